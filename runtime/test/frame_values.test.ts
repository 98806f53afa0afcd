import assert from "node:assert/strict";
import { test } from "node:test";

import { isPlacing } from "../src/motion/effects.ts";
import { countUpTo, FrameValues } from "../src/motion/frame_values.ts";

test("a value is kept from the frame in which it changed to the next change", () => {
  const values = new FrameValues("first");
  values.add(3, "second");
  values.add(7, "lost");
  values.add(7, "third");
  assert.deepEqual(
    [-1, 2, 3, 6, 7, 99].map((frame) => values.at(frame)),
    ["first", "first", "second", "second", "third", "third"],
  );
  assert.equal(values.last, "third");
  assert.deepEqual(values.frames, [3, 7]);
});

test("numbers up to a limit are counted", () => {
  assert.deepEqual(
    [0, 1, 4, 5, 9].map((limit) => countUpTo([1, 4, 4, 8], limit)),
    [0, 1, 3, 3, 4],
  );
  assert.equal(countUpTo([], 3), 0);
});

test("styles that only move a picture are told from others", () => {
  const names = ["transform", "clip-path", "transform-origin", "color", "--x", "filter"];
  assert.deepEqual(names.map(isPlacing), [true, true, true, false, false, false]);
});
