import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { around, fit } from "../src/elements/fit.ts";

const BOX = { width: 320, height: 240 };

describe("the box around content", () => {
  it("holds all that have an area", () => {
    const boxes = [
      { x: -10, y: 5, width: 20, height: 20 },
      { x: 0, y: 0, width: 50, height: 10 },
      { x: 900, y: 900, width: 0, height: 40 },
    ];
    assert.deepEqual(around(boxes), { x: -10, y: 0, width: 60, height: 25 });
  });

  it("is none without content", () => {
    assert.equal(around([]), null);
    assert.equal(around([{ x: 0, y: 0, width: 10, height: 0 }]), null);
  });
});

describe("a fit", () => {
  const wide = { x: 0, y: 0, width: 640, height: 240 };

  it("shows all of what is larger, in the middle", () => {
    assert.deepEqual(fit(BOX, wide, {}), { x: 0, y: 60, scale: 0.5 });
  });

  it("enlarges what is smaller", () => {
    const small = { x: 10, y: 20, width: 40, height: 60 };
    assert.deepEqual(fit(BOX, small, {}), { x: 40, y: -80, scale: 4 });
  });

  it("keeps what is written and finds the rest", () => {
    assert.deepEqual(fit(BOX, wide, { scale: 1 }), { x: -160, y: 0, scale: 1 });
    assert.deepEqual(fit(BOX, wide, { x: 7 }), { x: 7, y: 60, scale: 0.5 });
    assert.deepEqual(fit(BOX, wide, { y: 0 }), { x: 0, y: 0, scale: 0.5 });
  });
});
