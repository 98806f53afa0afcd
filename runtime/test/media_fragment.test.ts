import assert from "node:assert/strict";
import { test } from "node:test";

import { splitFragment } from "../src/timing/media_fragment.ts";

test("the end of an address names a range in every form that browsers read", () => {
  const read = [
    ["t=1", 1000, null],
    ["t=1,3", 1000, 3000],
    ["t=,3.5", 0, 3500],
    ["t=npt:01:02.5,0:01:03", 62_500, 63_000],
    ["x&t=90&t=%31,2&t=late", 1000, 2000],
  ] as const;
  for (const [written, startMs, endMs] of read) {
    const expected = { url: "a.mp4?t=9", fragment: { startMs, endMs } };
    assert.deepEqual(splitFragment(`a.mp4?t=9#${written}`), expected);
  }
});

test("what browsers do not read is the whole source", () => {
  for (const written of [
    "",
    "#",
    "#t=",
    "#t=,",
    "#t=1,",
    "#t=3,1",
    "#t=-1",
    "#t=1s",
    "#t=1:60",
    "#%",
  ]) {
    const { fragment } = splitFragment(`a.mp4${written}`);
    assert.deepEqual(fragment, { startMs: 0, endMs: null }, written);
  }
});
