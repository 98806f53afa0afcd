import assert from "node:assert/strict";
import { test } from "node:test";
import { clockTime, isPlaylist, loudness, tileAt } from "../src/player/sheet.ts";

test("a thumbnail is found in the sheet, the last one too", () => {
  const sheet = { width: 1600, height: 270 };
  assert.deepEqual(tileAt(0, 25, sheet), { x: 0, y: 0, width: 160, height: 90 });
  assert.deepEqual(tileAt(12.5, 25, sheet), { x: 320, y: 90, width: 160, height: 90 });
  assert.deepEqual(tileAt(25, 25, sheet), { x: 640, y: 180, width: 160, height: 90 });
  assert.deepEqual(tileAt(0.4, 0.5, { width: 160, height: 90 }).x, 0);
  // A long film has a hundred.
  assert.deepEqual(tileAt(3599, 3600, { width: 1600, height: 900 }).y, 810);
});

test("loudness is the highest of each part, whatever its sign", () => {
  const wave = { bits: 8, data: [-127, 0, 0, 0, 0, 63.5, -1, 1] };
  assert.deepEqual(loudness(wave, 2), [1, 0.5]);
  assert.equal(loudness(wave, 8).length, 8);
  assert.deepEqual(loudness({ bits: 8, data: [] }, 2), [0, 0]);
});

test("times are written as players write them", () => {
  assert.deepEqual([0, 62.9, 3602, Number.NaN].map(clockTime), ["0:00", "1:02", "1:00:02", "0:00"]);
});

test("streams and playlists are told from films", () => {
  assert.ok(isPlaylist("https://kiln.example/l/abc/stream"));
  assert.ok(isPlaylist("/api/v1/transcode/manifest.m3u8?url=x"));
  assert.ok(!isPlaylist("https://kiln.example/l/abc/film.mp4"));
});
