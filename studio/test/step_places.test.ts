import assert from "node:assert/strict";
import { test } from "node:test";
import { placeSteps } from "../src/app/step_places.ts";

test("a step stands behind everything that it needs", () => {
  const places = placeSteps({
    out: { type: "publish", needs: ["check", "words"] },
    facts: { type: "probe" },
    words: { type: "transcribe", needs: ["facts"] },
    check: { type: "review", needs: ["words"] },
  });
  const columns = Object.fromEntries([...places].map(([key, { column }]) => [key, column]));
  assert.deepEqual(columns, { facts: 0, words: 1, check: 2, out: 3 });
});

test("steps of one column stand below each other", () => {
  const places = placeSteps({ a: { type: "probe" }, b: { type: "probe" } });
  assert.deepEqual(
    [...places.values()].map(({ row }) => row),
    [0, 1],
  );
});

test("a cycle and an unknown step do not stop the drawing", () => {
  const places = placeSteps({
    a: { type: "filter", needs: ["b", "missing"] },
    b: { type: "filter", needs: ["a"] },
  });
  assert.equal(places.size, 2);
});
