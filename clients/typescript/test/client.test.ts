/** The client against a `fetch` of the test: retries, progress, uploads, signatures. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import { Client, FramekilnError, ServiceUnreachable, verifyWebhook } from "../src/index.ts";
import { guessType } from "../src/uploads.ts";

type Answer = Response | Error;

/** Returns a client, and what it sent. */
function clientOf(...answers: Answer[]): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const answer = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const range = new Headers(init?.headers).get("Content-Range");
    asked.push([init?.method, String(input), range].filter(Boolean).join(" "));
    const next = answers.shift();
    if (next === undefined) throw new Error(`nothing prepared for ${String(input)}`);
    if (next instanceof Error) throw next;
    return next;
  };
  const options = { baseUrl: "http://service/", apiKey: "ef_a_b", retryWithinMs: 60_000 };
  return { client: new Client({ ...options, fetch: answer as typeof fetch }), asked };
}

function json(body: unknown, status = 200): Response {
  return new Response(JSON.stringify(body), { status });
}

test("reads are retried, creations are not", async () => {
  const { client, asked } = clientOf(new TypeError("lost"), json({ id: "v", is_ready: true }));
  assert.equal((await client.videos.get("v")).id, "v");
  assert.deepEqual(asked, ["GET http://service/v2/videos/v", "GET http://service/v2/videos/v"]);
  const other = clientOf(json({ error: "quota_exceeded", message: "used up" }, 429));
  await assert.rejects(other.client.renders.create({ html: "<p>" }), ServiceUnreachable);
  assert.equal(other.asked.length, 1);
});

test("the record of a small file is asked for, not its bytes", async () => {
  let accepted: string | null = null;
  const answer = async (_: unknown, init?: RequestInit): Promise<Response> => {
    accepted = new Headers(init?.headers).get("Accept");
    return json({ id: "f", type: "image" });
  };
  const client = new Client({ baseUrl: "http://service/", fetch: answer as typeof fetch });
  assert.equal((await client.files.get("f")).type, "image");
  assert.equal(accepted, "application/json");
});

test("an error has the code of the service", async () => {
  const { client } = clientOf(json({ error: "render_not_found", message: "no render" }, 404));
  await assert.rejects(client.renders.get("r"), (error: FramekilnError) => {
    assert.deepEqual([error.code, error.status], ["render_not_found", 404]);
    return true;
  });
});

test("bulks and videos of templates come with their warnings", async () => {
  const warnings = [{ row: 1, path: "data.nick", code: "unknown_field", message: "no effect" }];
  const bulk = { id: "b", status: "running" };
  const { client } = clientOf(
    json({ data: bulk, warnings }, 201),
    json({ data: bulk }),
    json({ data: { video: { id: "v" } }, warnings }, 201),
  );
  assert.deepEqual((await client.bulks.create("t", [{ nick: "A" }])).warnings, warnings);
  assert.deepEqual((await client.bulks.createFromTable("t", "nick\nA\n", "text/csv")).warnings, []);
  assert.deepEqual((await client.templates.render("t", { nick: "A" })).warnings, warnings);
});

test("a progress stream that breaks is reopened", async () => {
  const half = 'event: progress\ndata: {"progress": 0.5}\n\n';
  const { client } = clientOf(
    new Response(half),
    new Response(`${half}event: complete\ndata: {}\n\n`),
    json({ id: "r", status: "complete" }),
  );
  const fractions: number[] = [];
  const render = await client.renders.wait("r", { onProgress: (each) => fractions.push(each) });
  assert.equal(render.status, "complete");
  assert.deepEqual(fractions, [0.5, 0.5]);
});

test("a failed render throws its reason", async () => {
  const { client } = clientOf(new Response("event: error\ndata: bad_page: no element\n\n"));
  await assert.rejects(client.renders.wait("r"), { code: "bad_page" });
});

test("a refused progress stream says why", async () => {
  const headers = { "Content-Type": "text/event-stream; charset=utf-8" };
  const body = "event: error\ndata: there is no render 'r'\n\n";
  const { client } = clientOf(new Response(body, { status: 404, headers }));
  await assert.rejects(client.renders.wait("r"), { message: "there is no render 'r' (404)" });
});

test("an upload resumes at the missing byte", async () => {
  const { client, asked } = clientOf(
    json({ id: "f" }, 201),
    json({ next_byte: 0, complete: false }),
    new TypeError("lost"),
    json({ next_byte: 3, complete: false }),
    json({ next_byte: 7, complete: true }),
    json({ id: "f", status: "processing" }),
  );
  const reports: number[] = [];
  const options = { filename: "a.mp4", onProgress: (done: number) => void reports.push(done) };
  await client.files.upload(new Blob(["content"]), options);
  assert.deepEqual(reports, [0, 3, 7]);
  assert.deepEqual(
    asked
      .filter((each) => each.includes("bytes"))
      .map((each) => each.split(" ").slice(2).join(" ")),
    ["bytes 0-6/7", "bytes 3-6/7"],
  );
});

test("the media type of content without a name says what it is", () => {
  assert.equal(guessType("upload", "image/png"), "image");
  assert.deepEqual(
    ["a.PNG", "a.vtt", "a.mp4", "upload"].map((name) => guessType(name)),
    ["image", "caption", "video", "video"],
  );
});

test("a failed video has the reason and the layer", async () => {
  const error = { code: "asset_unreachable", message: "no such host", layer: "clip" };
  const { client, asked } = clientOf(
    new Response("event: error\ndata: failed: see the video\n\n"),
    json({ id: "v", is_ready: false, error }),
  );
  await assert.rejects(client.videos.wait("v"), (raised: FramekilnError) => {
    assert.deepEqual([raised.code, raised.details["layer"]], ["asset_unreachable", "clip"]);
    return true;
  });
  assert.equal(asked[0], "GET http://service/v2/videos/v/progress");
});

test("lists request the next page when it is needed", async () => {
  const { client, asked } = clientOf(
    json({ files: [{ id: "a" }], next_cursor: "c" }),
    json({ files: [{ id: "b" }], next_cursor: null }),
  );
  const ids: string[] = [];
  for await (const file of client.files.list({ search: "x y" })) ids.push(file.id);
  assert.deepEqual(ids, ["a", "b"]);
  assert.ok(asked[1]?.endsWith("/api/v1/files?search=x+y&cursor=c"));
});

test("waiting ends when the signal aborts", async () => {
  const { client } = clientOf(json({ id: "v", is_ready: false }));
  const abort = new AbortController();
  const waiting = client.videos.wait("v", { signal: abort.signal });
  abort.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

test("webhooks are checked against secret, age and content", async () => {
  const secret = `whsec_${Buffer.from("a secret").toString("base64")}`;
  const body = '{"topic": "render.completed"}';
  const headers = (sentAt: number): Record<string, string> => {
    const signed = `msg_1.${sentAt}.${body}`;
    const signature = createHmac("sha256", "a secret").update(signed).digest("base64");
    return {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(sentAt),
      "webhook-signature": `v1,AAAA v1,${signature}`,
    };
  };
  const now = Math.floor(Date.now() / 1000);
  assert.equal((await verifyWebhook(secret, headers(now), body)).topic, "render.completed");
  const wrong = { code: "wrong_signature" };
  await assert.rejects(verifyWebhook(secret, headers(now), `${body} `), wrong);
  await assert.rejects(verifyWebhook(secret, headers(now - 3600), body), wrong);
  await assert.rejects(verifyWebhook("whsec_AAAA", headers(now), body), wrong);
  await assert.rejects(verifyWebhook(secret, {}, body), wrong);
});
