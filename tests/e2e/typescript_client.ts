/** Uses the TypeScript client like a program of a user; prints what it saw as JSON. */

import { Client } from "../../clients/typescript/src/index.ts";

const client = new Client({
  baseUrl: process.env["FRAMEKILN_BASE_URL"] ?? "",
  apiKey: process.env["FRAMEKILN_API_KEY"] ?? "",
});
const page = "<body style='background: teal'>";
const made = await client.renders.create({ html: page, width: 64, height: 36, fps: 10, duration_ms: 300 });
const fractions: number[] = [];
const render = await client.renders.wait(made.id, { onProgress: (part) => fractions.push(part) });
const film = await (await client.renders.download(made.id)).blob();
const file = await client.files.upload(film, { filename: "from-typescript.mp4" });
await client.files.waitReady(file.id);
const found: string[] = [];
for await (const each of client.files.list({ search: "typescript" })) found.push(each.id);
const organization = await client.request("get", "/api/v1/organization");
const missing = await client.videos.get("nothing").catch((error: { code: string }) => error.code);
console.log(
  JSON.stringify({
    status: render.status,
    byte_size: [render.byte_size, film.size],
    last_fraction: fractions.at(-1),
    found: found.includes(file.id),
    organization: organization.id,
    missing,
  }),
);
