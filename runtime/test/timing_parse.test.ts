import assert from "node:assert/strict";
import { test } from "node:test";

import { parseNumber, parseTimeMs, spellings } from "../src/timing/parse.ts";

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

test("a number may have the unit that it has anyway, and no other", () => {
  const written = [
    "0.5",
    " 2 ",
    "-4px",
    "180deg",
    "24fps",
    ".5",
    "1e2",
    "50%",
    "1,5",
    "loud",
    "",
    null,
  ];
  const read = [0.5, 2, -4, 180, 24, 0.5, 100, null, null, null, null, null];
  assert.deepEqual(written.map(parseNumber), read);
});

test("an attribute of two words is known joined and hyphenated", () => {
  assert.deepEqual(spellings("source-in"), ["sourcein", "source-in"]);
  assert.deepEqual(spellings("duration"), ["duration"]);
});
