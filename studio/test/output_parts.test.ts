import assert from "node:assert/strict";
import test from "node:test";
import { annotationRow, mediaOf } from "../src/app/output_parts.ts";

test("films of this service are played, addresses of others are not", () => {
  const own = "http://127.0.0.1:8080/api/v1/transcode/manifest.m3u8?url=file-id%3A1";
  assert.equal(mediaOf({ hls_url: own }), "/api/v1/transcode/manifest.m3u8?url=file-id%3A1");
  assert.equal(mediaOf({ output_url: "javascript:alert(1)" }), null);
  assert.equal(mediaOf({ output_url: "https://elsewhere.example/film.mp4" }), null);
  assert.equal(mediaOf({ hls_url: 1 }), null);
});

test("an annotation is a row of texts", () => {
  assert.deepEqual(
    annotationRow({ kind: "face", start_ms: 500, end_ms: 61_000, label: "A", confidence: 0.5 }),
    ["0:00.5", "1:01", "face", "A", "0.50"],
  );
  assert.deepEqual(annotationRow({}), ["0:00", "0:00", "", "—", "—"]);
});
