/** Uses the packed TypeScript client like a program of a user; prints what it saw as JSON. */

import { Client } from "framekiln";

const client = new Client({
  baseUrl: process.env["FRAMEKILN_BASE_URL"] ?? "",
  apiKey: process.env["FRAMEKILN_API_KEY"] ?? "",
});
const page = "<body style='background: teal'>";
const made = await client.renders.create({ html: page, width: 64, height: 36, fps: 10, duration_ms: 300 });
const fractions: number[] = [];
const render = await client.renders.wait(made.id, { onProgress: (part) => fractions.push(part) });
const film = await (await client.renders.download(made.id)).blob();
const link = await client.links.create(`/api/v1/renders/${made.id}.mp4`, { expires_in_s: 60 });
const linked = await (await fetch(link.url)).blob();
const file = await client.files.upload(film, { filename: "from-typescript.mp4" });
await client.files.waitReady(file.id);
const found: string[] = [];
for await (const each of client.files.list({ search: "typescript" })) found.push(each.id);

const config = {
  dimensions: { width: 64, height: 36 },
  duration: 0.2,
  fps: 10,
  layers: [{ id: "t", type: "text" as const, text: { text: "{{ name }}" } }],
};
const template = { name: "Greeting", config, inputs: { name: "required|string" }, default_values: {} };
const { id: templateId } = (await client.templates.create(template)).data;
await client.templates.update(templateId, { ...template, name: "Welcome" });
const versions: string[] = [];
for await (const each of client.templates.versions(templateId)) versions.push(each.name);
const bulk = await client.bulks.wait(
  (await client.bulks.createFromTable(templateId, "name\nAda\nGrace\n", "text/csv")).id,
);

const pipeline = await client.pipelines.create("facts", { steps: { facts: { type: "probe" } } });
const { run } = await client.runs.create({ pipeline_id: pipeline.id, file_id: file.id });
const ended = await client.runs.wait(run.id);
const outputs: unknown[] = [];
for await (const each of client.runs.outputs(run.id, "facts")) outputs.push(each);

const missing = await client.videos.get("nothing").catch((error: { code: string }) => error.code);
console.log(
  JSON.stringify({
    status: render.status,
    byte_size: [render.byte_size, film.size, linked.size],
    last_fraction: fractions.at(-1),
    found: found.includes(file.id),
    versions,
    bulk: [bulk.status, bulk.row_count],
    run: [ended.status, outputs.length],
    organization: (await client.organization.get()).id,
    missing,
  }),
);
