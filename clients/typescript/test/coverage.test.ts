/** Each operation of the API has a method, or a reason why it has none; all run in edge runtimes. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import type { Client } from "../src/index.ts";
import { DescribedService } from "./described-service.ts";
import { loadClient } from "./web-context.ts";

const SESSION = "for browsers with a session: a key cannot do this";
const OTHER_NAME = "another name of a route that the client uses";
const LEGACY = "a route of existing clients: client.files does the same";
const PLAYER = "requested by players, which find the address in a playlist";
const PROGRAM = "for programs around the service, not for callers";

const EXEMPT: Record<string, string> = {
  "GET /api/v1/keys": SESSION,
  "POST /api/v1/keys": SESSION,
  "DELETE /api/v1/keys/{key_id}": SESSION,
  "POST /api/v1/keys/{key_id}/rotate": SESSION,
  "GET /api/v1/members": SESSION,
  "PATCH /api/v1/members/{user_id}": SESSION,
  "DELETE /api/v1/members/{user_id}": SESSION,
  "GET /api/v1/invitations": SESSION,
  "POST /api/v1/invitations": SESSION,
  "DELETE /api/v1/invitations/{invitation_id}": SESSION,
  "POST /login/invitation": SESSION,
  "POST /login/invitation/accept": SESSION,
  "POST /session/organization": SESSION,
  "POST /login": SESSION,
  "POST /login/code": SESSION,
  "POST /login/review": SESSION,
  "GET /session/review": SESSION,
  "POST /logout": SESSION,
  "GET /session": SESSION,
  "POST /ef-sign-url": SESSION,
  "GET /healthz": PROGRAM,
  "GET /readyz": PROGRAM,
  "POST /api/v1/telemetry": PROGRAM,
  "POST /api/v1/pipeline-callbacks/{callback_id}": PROGRAM,
  "GET /api/v1/renders/{render_id}.jpeg": OTHER_NAME,
  "GET /api/v1/renders/{render_id}.png": OTHER_NAME,
  "GET /api/v1/renders/{render_id}.webp": OTHER_NAME,
  "POST /api/v1/renders/{render_id}/delete": OTHER_NAME,
  "POST /api/v1/files/{file_id}/delete": OTHER_NAME,
  "DELETE /api/v1/pipelines/{pipeline_id}": OTHER_NAME,
  "POST /api/v1/transcriptions": OTHER_NAME,
  "GET /api/v1/files/{file_id}/transcription.json": OTHER_NAME,
  "GET /api/v1/files/{file_id}/transcription.vtt": OTHER_NAME,
  "GET /api/v1/files/{file_id}/transcription.srt": OTHER_NAME,
  "GET /api/v1/transcode/{rendition}/playlist.m3u8": PLAYER,
  "GET /api/v1/transcode/{rendition}/init.{extension}": PLAYER,
  "GET /api/v1/transcode/{rendition}/{number}.{extension}": PLAYER,
  "GET /v2/videos/{video_id}/stream/{track}.m3u8": PLAYER,
  "GET /v2/videos/{video_id}/stream/{track}/init.mp4": PLAYER,
  "GET /v2/videos/{video_id}/stream/{track}/{number}.m4s": PLAYER,
};
const LEGACY_PATHS =
  /^(GET|POST) \/api\/v1\/(image_files|caption_files|unprocessed_files|process_isobmff|isobmff_files|isobmff_tracks)(\/|$)/;

const URL_OF_MEDIA = "https://cdn.example/film.mp4";
const content = new Blob(["content"]);
const config = { layers: [] };
const definition = { steps: {} };
const body = {} as never;

/** A call of each method. */
const CALLS: Record<string, (client: Client) => unknown> = {
  "renders.create": (client) => client.renders.create({ html: "<p>" }),
  "renders.uploadBundle": (client) => client.renders.uploadBundle("id", content),
  "renders.get": (client) => client.renders.get("id"),
  "renders.byMd5": (client) => client.renders.byMd5("0".repeat(32)),
  "renders.list": (client) => client.renders.list({ status: "complete" }),
  "renders.wait": (client) => client.renders.wait("id"),
  "renders.download": (client) => client.renders.download("id"),
  "renders.source": (client) => client.renders.source("id"),
  "renders.request": (client) => client.renders.request("id"),
  "renders.slices": (client) => client.renders.slices("id"),
  "renders.repeat": (client) => client.renders.repeat("id"),
  "renders.delete": (client) => client.renders.delete("id"),
  "videos.create": async (client) => [
    await client.videos.create({ config }),
    await client.videos.create({ config }, { clip: content }),
  ],
  "videos.get": (client) => client.videos.get("id"),
  "videos.config": (client) => client.videos.config("id"),
  "videos.list": (client) => client.videos.list(),
  "videos.wait": (client) => client.videos.wait("id"),
  "videos.download": (client) => client.videos.download("id"),
  "videos.delete": (client) => client.videos.delete("id"),
  "videos.plan": (client) => client.videos.plan(config),
  "videos.drawFrame": (client) => client.videos.drawFrame(config, 0.5),
  "videos.frame": (client) => client.videos.frame("id"),
  "videos.poster": (client) => client.videos.poster("id", { at: 1 }),
  "videos.thumbnail": (client) => client.videos.thumbnail("id"),
  "videos.playlist": (client) => client.videos.playlist("id"),
  "videos.probe": async (client) => [
    await client.videos.probe(URL_OF_MEDIA),
    await client.videos.probe(content, "image"),
  ],
  "templates.create": (client) =>
    client.templates.create({ name: "n", config, inputs: {}, default_values: {} }),
  "templates.update": (client) =>
    client.templates.update("id", { name: "n", config, inputs: {}, default_values: {} }),
  "templates.get": (client) => client.templates.get("id"),
  "templates.list": (client) => client.templates.list(),
  "templates.versions": (client) => client.templates.versions("id"),
  "templates.version": (client) => client.templates.version("id", 1),
  "templates.check": (client) => client.templates.check({ config, inputs: {}, default_values: {} }),
  "templates.schema": (client) => client.templates.schema("id", { version: 1 }),
  "templates.render": (client) => client.templates.render("id", { name: "Ada" }, { version: 1 }),
  "templates.delete": (client) => client.templates.delete("id"),
  "bulks.create": (client) => client.bulks.create("id", [{ name: "Ada" }], { destinations: [] }),
  "bulks.createFromTable": (client) =>
    client.bulks.createFromTable("id", "name\nAda\n", "text/csv", { version: 1 }),
  "bulks.list": (client) => client.bulks.list(),
  "bulks.get": (client) => client.bulks.get("id"),
  "bulks.wait": (client) => client.bulks.wait("id"),
  "bulks.rows": (client) => client.bulks.rows("id"),
  "bulks.cancel": (client) => client.bulks.cancel("id"),
  "bulks.download": (client) => client.bulks.download("id"),
  "bulks.manifest": (client) => client.bulks.manifest("id", "csv"),
  "files.upload": (client) => client.files.upload(content, { filename: "a.mp4" }),
  "files.get": (client) => client.files.get("id"),
  "files.list": (client) => client.files.list(),
  "files.byMd5": (client) => client.files.byMd5("0".repeat(32)),
  "files.waitReady": (client) => client.files.waitReady("id"),
  "files.download": (client) => client.files.download("id"),
  "files.delete": (client) => client.files.delete("id"),
  "files.namespaces": (client) => client.files.namespaces("id"),
  "files.metadata": (client) => client.files.metadata("id", "scenes"),
  "files.frame": (client) => client.files.frame("id", 0),
  "files.frameTimes": (client) => client.files.frameTimes("id"),
  "files.sampledFrame": (client) => client.files.sampledFrame("id", 500),
  "files.thumbnails": (client) => client.files.thumbnails("id"),
  "files.waveform": (client) => client.files.waveform("id"),
  "files.index": (client) => client.files.index("id"),
  "files.track": (client) => client.files.track("id", 1),
  "files.createTrack": (client) => client.files.createTrack("id", body),
  "files.uploadTrack": (client) => client.files.uploadTrack("id", 1, content),
  "files.uploadIndex": (client) => client.files.uploadIndex("id", body),
  "streams.create": (client) => client.streams.create(body),
  "streams.get": (client) => client.streams.get("id"),
  "streams.putInit": (client) => client.streams.putInit("id", 1, content),
  "streams.putFragment": (client) => client.streams.putFragment("id", 1, 0, content),
  "streams.seal": (client) => client.streams.seal("id", body),
  "streams.download": (client) => client.streams.download("id", { to_ms: 1000 }),
  "transcriptions.create": (client) => client.transcriptions.create("id"),
  "transcriptions.get": (client) => client.transcriptions.get("id"),
  "transcriptions.ofFile": (client) => client.transcriptions.ofFile("id"),
  "transcriptions.list": (client) => client.transcriptions.list(),
  "transcriptions.wait": (client) => client.transcriptions.wait("id"),
  "transcriptions.text": async (client) => [
    await client.transcriptions.text("id"),
    await client.transcriptions.text("id", "srt"),
    await client.transcriptions.text("id", "json"),
  ],
  "transcriptions.fragment": (client) => client.transcriptions.fragment("id", 0),
  "transcriptions.corrections": (client) => client.transcriptions.corrections("id"),
  "transcriptions.correct": (client) =>
    client.transcriptions.correct("id", 500, { end_ms: 900, text: "hello" }),
  "transcriptions.deleteCorrection": (client) => client.transcriptions.deleteCorrection("id", 500),
  "pipelines.create": (client) => client.pipelines.create("name", definition),
  "pipelines.get": (client) => client.pipelines.get("id"),
  "pipelines.list": (client) => client.pipelines.list(),
  "pipelines.archive": (client) => client.pipelines.archive("id"),
  "pipelines.createVersion": (client) => client.pipelines.createVersion("id", definition),
  "pipelines.versions": (client) => client.pipelines.versions("id"),
  "pipelines.version": (client) => client.pipelines.version("id", 1),
  "pipelines.validate": (client) => client.pipelines.validate(definition),
  "endpoints.create": (client) => client.endpoints.create(body),
  "endpoints.get": (client) => client.endpoints.get("id"),
  "endpoints.list": (client) => client.endpoints.list(),
  "endpoints.archive": (client) => client.endpoints.archive("id"),
  "runs.create": (client) => client.runs.create({ pipeline_id: "id", file_id: "id" }),
  "runs.get": (client) => client.runs.get("id"),
  "runs.list": (client) => client.runs.list({ file_id: "id" }),
  "runs.wait": (client) => client.runs.wait("id"),
  "runs.attempts": (client) => client.runs.attempts("id"),
  "runs.cancel": (client) => client.runs.cancel("id"),
  "runs.retry": (client) => client.runs.retry("id"),
  "runs.outputs": (client) => client.runs.outputs("id", "scenes"),
  "batches.create": (client) => client.batches.create(body, { idempotencyKey: "key" }),
  "batches.get": (client) => client.batches.get("id"),
  "batches.list": (client) => client.batches.list(),
  "batches.cancel": (client) => client.batches.cancel("id"),
  "reviews.get": (client) => client.reviews.get("id"),
  "reviews.list": (client) => client.reviews.list({ status: "pending" }),
  "reviews.inputs": (client) => client.reviews.inputs("id"),
  "reviews.createLink": (client) => client.reviews.createLink("id"),
  "reviews.approve": (client) => client.reviews.approve("id"),
  "reviews.reject": (client) => client.reviews.reject("id", { reason: "no" }),
  "links.create": (client) => client.links.create("/v2/videos/id", { expires_in_s: 60 }),
  "links.list": (client) => client.links.list(),
  "links.revoke": (client) => client.links.revoke("id"),
  "links.token": (client) => client.links.token("/v2/videos/id"),
  "playback.hls": (client) => client.playback.hls(URL_OF_MEDIA),
  "playback.dash": (client) => client.playback.dash(URL_OF_MEDIA),
  "playback.manifest": (client) => client.playback.manifest(URL_OF_MEDIA),
  "playback.presets": (client) => client.playback.presets(),
  "webhooks.create": (client) => client.webhooks.create(body),
  "webhooks.get": (client) => client.webhooks.get("id"),
  "webhooks.list": (client) => client.webhooks.list(),
  "webhooks.update": (client) => client.webhooks.update("id", { events: ["render.*"] }),
  "webhooks.delete": (client) => client.webhooks.delete("id"),
  "webhooks.rotateSecret": (client) => client.webhooks.rotateSecret("id"),
  "webhooks.rotateCallbackSecret": (client) => client.webhooks.rotateCallbackSecret(),
  "webhooks.resume": (client) => client.webhooks.resume("id"),
  "webhooks.test": (client) => client.webhooks.test(),
  "webhooks.testOne": (client) => client.webhooks.testOne("id"),
  "webhooks.topics": (client) => client.webhooks.topics(),
  "webhooks.deliveries": (client) => client.webhooks.deliveries("id"),
  "webhooks.delivery": (client) => client.webhooks.delivery("id"),
  "webhooks.redeliver": (client) => client.webhooks.redeliver("id"),
  "organization.get": (client) => client.organization.get(),
  "organization.usage": (client) => client.organization.usage(),
  "organization.auditLog": (client) => client.organization.auditLog(),
  "organization.changes": async (client) => {
    for await (const _ of client.organization.changes()) return;
  },
  "organization.sendFeedback": (client) => client.organization.sendFeedback(body),
};

function methodsOf(client: Client): string[] {
  return Object.entries(client).flatMap(([name, part]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(part))
      .filter((method) => method !== "constructor")
      .map((method) => `${name}.${method}`),
  );
}

test("each operation has a method or a reason, with globals of the web only", async () => {
  const file = new URL("../openapi.json", import.meta.url);
  const unfinished = { next_byte: 0, complete: false };
  const service = new DescribedService(JSON.parse(await readFile(file, "utf8")), {
    // Not complete at first, so that something is sent.
    "GET /api/v1/files/{file_id}/upload": unfinished,
    "GET /api/v1/files/{file_id}/tracks/{track_id}/upload": unfinished,
  });
  const { Client } = await loadClient();
  const client = new Client({ baseUrl: "http://service", apiKey: "key", fetch: service.fetch });
  assert.deepEqual(methodsOf(client).sort(), Object.keys(CALLS).sort());
  for (const [name, call] of Object.entries(CALLS)) {
    const found = call(client) as AsyncGenerator | Promise<unknown>;
    if (Symbol.asyncIterator in found) {
      const first = await found.next();
      assert.ok(!first.done && first.value !== undefined, name);
      assert.equal((await found.next()).done, true, name);
    } else await found;
  }
  const exempt = new Map(Object.entries(EXEMPT));
  for (const each of service.operations) if (LEGACY_PATHS.test(each)) exempt.set(each, LEGACY);
  const neither = [...service.operations].filter(
    (each) => !service.asked.has(each) && !exempt.has(each),
  );
  assert.deepEqual(neither, [], "neither a method nor a reason");
  const gone = [...exempt.keys()].filter((each) => !service.operations.has(each));
  assert.deepEqual(gone, [], "gone from the API");
  const both = [...exempt.keys()].filter((each) => service.asked.has(each));
  assert.deepEqual(both, [], "a method, and a reason for none");
});

test("signatures are checked with globals of the web only", async () => {
  const { verifyWebhook } = await loadClient();
  await assert.rejects(verifyWebhook("whsec_AAAA", {}, "{}"), { code: "wrong_signature" });
});
