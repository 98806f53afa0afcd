import assert from "node:assert/strict";
import { test } from "node:test";
import { mayMove, pictureAt } from "../src/timing/animated_picture.ts";

const ENDS = [100, 150, 400];

test("each picture is on for its own time, run after run", () => {
  const animation = { endsMs: ENDS, plays: null };
  const numbers = [0, 99, 100, 149, 150, 399, 400, 500, 4_000_120].map((ms) =>
    pictureAt(animation, ms),
  );
  assert.deepEqual(numbers, [0, 0, 1, 1, 2, 2, 0, 1, 1]);
});

test("after the last run the last picture stays", () => {
  const animation = { endsMs: ENDS, plays: 2 };
  assert.deepEqual(
    [399, 400, 799, 800, 10_000].map((ms) => pictureAt(animation, ms)),
    [2, 0, 2, 2, 2],
  );
});

test("thirds of a frame do not come late", () => {
  const third = 1000 / 30;
  const animation = { endsMs: [third, 2 * third, 3 * third], plays: null };
  const numbers = Array.from({ length: 9 }, (_, n) => pictureAt(animation, (n * 1000) / 30));
  assert.deepEqual(numbers, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
});

const written = (bytes: string, type: string): string => `data:image/${type};base64,${btoa(bytes)}`;

test("data addresses of stills are recognized", () => {
  const webp = "RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0";
  assert.equal(mayMove(written("GIF89a", "gif")), true);
  assert.equal(mayMove(written("\x89PNG....IHDR....acTL", "png")), true);
  assert.equal(mayMove(written("\x89PNG....IHDR....IDAT", "png")), false);
  assert.equal(mayMove(written(`${webp}...ANIM`, "webp")), true);
  assert.equal(mayMove(written(`${webp}...ALPH`, "webp")), false);
  assert.equal(mayMove(written("\xff\xd8\xff", "jpeg")), false);
  assert.equal(mayMove("data:image/svg+xml,<svg/>"), false);
});
