import assert from "node:assert/strict";
import { test } from "node:test";
import { framesWithin, overshoots, overshootsScale } from "../src/scale_history.ts";

const keyframe = (transform: string, easing: string): ComputedKeyframe =>
  ({ transform, easing, offset: 0, computedOffset: 0, composite: "auto" }) as ComputedKeyframe;

test("an easing overshoots if it leaves the range between its ends", () => {
  assert.ok(overshoots("cubic-bezier(0.2, 1.2, 0.4, 1)"));
  assert.ok(overshoots("cubic-bezier(0.2, 0, 0.4, -0.1)"));
  assert.ok(overshoots("linear(0 0%, 1.2 50%, 1 100%)"));
  for (const easing of ["linear", "ease-out", "cubic-bezier(0.2, 1, 0.4, 0)", "steps(3)"]) {
    assert.ok(!overshoots(easing), easing);
  }
});

test("only a scale that overshoots counts", () => {
  const beyond = "cubic-bezier(0.2, 1.2, 0.4, 1)";
  assert.ok(overshootsScale([keyframe("scaleY(0)", beyond)], "linear"));
  assert.ok(overshootsScale([keyframe("scale(0)", "linear")], beyond));
  assert.ok(!overshootsScale([keyframe("scale(0)", "ease")], "linear"));
  assert.ok(!overshootsScale([keyframe("translateY(9px)", beyond)], "linear"));
});

test("the frames of several times before one are in order, each once", () => {
  const spans = [
    { firstMs: 200, lastMs: 400 },
    { firstMs: 0, lastMs: 250 },
    { firstMs: 600, lastMs: 900 },
  ];
  const rate = { numerator: 10, denominator: 1 };
  assert.deepEqual(framesWithin(spans, 8, rate), [0, 1, 2, 3, 4, 6, 7]);
});

test("of an animation as long as the film, only the last frames are drawn once more", () => {
  const rate = { numerator: 30, denominator: 1 };
  const found = framesWithin([{ firstMs: 0, lastMs: 3_600_000 }], 90_000, rate);
  assert.deepEqual([found.length, found[0], found.at(-1)], [300, 89_700, 89_999]);
});
