import assert from "node:assert/strict";
import test from "node:test";
import { barsOf } from "../src/app/slice_bars.ts";

const at = (seconds: number): string => new Date(1000 * seconds).toISOString();

test("bars of slices share one scale, and a running one reaches to the present", () => {
  const slices = [
    { taken_at: at(10), finished_at: at(12) },
    { taken_at: at(11), finished_at: null },
    { taken_at: null, finished_at: null },
  ];
  assert.deepEqual(barsOf(slices, 14_000), [
    { left: 0, width: 0.5, seconds: 2 },
    { left: 0.25, width: 0.75, seconds: 3 },
    null,
  ]);
});
