import assert from "node:assert/strict";
import { test } from "node:test";

import { parseTimeMs, spellings } from "../src/timing/parse.ts";

test("times are read in every unit authors write", () => {
  const written = ["5s", "500ms", "2.5s", "2m", "1min", "1h", "5000", " 1.5 s ", ".5s", "-2s", "0"];
  const readMs = [5000, 500, 2500, 120_000, 60_000, 3_600_000, 5000, 1500, 500, -2000, 0];
  assert.deepEqual(written.map(parseTimeMs), readMs);
});

test("what is no time reads as nothing", () => {
  for (const text of ["", "soon", "5 parsecs", "1:30", "s", null, undefined]) {
    assert.equal(parseTimeMs(text), null);
  }
});

test("an attribute of two words is known joined and hyphenated", () => {
  assert.deepEqual(spellings("source-in"), ["sourcein", "source-in"]);
  assert.deepEqual(spellings("duration"), ["duration"]);
});
