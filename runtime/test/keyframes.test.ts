import assert from "node:assert/strict";
import { test } from "node:test";
import { stillPart } from "../src/timing/keyframes.ts";

const keyframe = (computedOffset: number, values: object, easing = "linear"): ComputedKeyframe =>
  ({ computedOffset, offset: computedOffset, easing, composite: "auto", ...values }) as never;

test("values stay as they are between keyframes that have the same", () => {
  const fade = [
    keyframe(0, { opacity: "0" }),
    keyframe(0.5, { opacity: "0" }),
    keyframe(0.75, { opacity: "1" }),
    keyframe(1, { opacity: "1" }),
  ];
  assert.equal(stillPart(fade, 0), 0.5);
  assert.equal(stillPart(fade, 0.25), 0.25);
  assert.equal(stillPart(fade, 0.5), 0);
  assert.equal(stillPart(fade, 0.6), 0);
  assert.equal(stillPart(fade, 0.75), 0.25);
});

test("one property that changes is enough, wherever its keyframes are", () => {
  const both = [
    keyframe(0, { opacity: "1", scale: "1" }),
    keyframe(0.5, { opacity: "1" }),
    keyframe(1, { opacity: "1", scale: "2" }),
  ];
  assert.equal(stillPart(both, 0.25), 0);
  const first = [keyframe(0, { opacity: "1" }), keyframe(0.5, { opacity: "1", scale: "2" })];
  assert.equal(stillPart(first, 0.25), 0);
});

test("a value that waits for the next keyframe stays until then", () => {
  const steps = [keyframe(0, { opacity: "0" }, "steps(1)"), keyframe(1, { opacity: "1" })];
  assert.equal(stillPart(steps, 0.25), 0.75);
});
