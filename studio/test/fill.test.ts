import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { hideAll } from "../src/review/fill.ts";

interface Case {
  name: string;
  width_px: number;
  height_px: number;
  pixels: number[];
  rects: [left: number, top: number, right: number, bottom: number][];
  expected: number[];
}

const CASES = JSON.parse(
  readFileSync(new URL("fill_cases.json", import.meta.url), "utf8"),
) as Case[];

for (const { name, width_px: width, height_px: height, pixels, rects, expected } of CASES) {
  test(`the preview hides what the render hides: ${name}`, () => {
    const data = Uint8Array.from(pixels.flatMap((grey) => [grey, grey, grey, 255]));
    hideAll(
      { data, width, height },
      rects.map(([left, top, right, bottom]) => ({ left, top, right, bottom })),
    );
    expected.forEach((value, place) => {
      const [red, green, blue, opacity] = data.subarray(4 * place, 4 * place + 4);
      assert.deepEqual([green, blue, opacity], [red, red, 255]);
      // The renderer computes with fewer digits.
      assert.ok(Math.abs(red! - value) <= 1, `${place}: ${red} instead of ${value}`);
    });
  });
}
