import assert from "node:assert/strict";
import test from "node:test";
import { correctionsIn, spanOf } from "../src/app/transcript_spans.ts";

const SEGMENT = { start: 1.0004, end: 2.5, text: "hello" };

test("a segment without corrections is replaced from its start to its end", () => {
  assert.deepEqual(spanOf(SEGMENT, [{ start_ms: 2500, end_ms: 3000 }]), {
    start_ms: 1000,
    end_ms: 2500,
  });
});

test("a correction that reaches beyond its segment is replaced as a whole", () => {
  const corrections = [
    { start_ms: 0, end_ms: 1000 },
    { start_ms: 900, end_ms: 1200 },
    { start_ms: 2400, end_ms: 2600 },
  ];
  assert.deepEqual(correctionsIn(SEGMENT, corrections), corrections.slice(1));
  assert.deepEqual(spanOf(SEGMENT, corrections), { start_ms: 900, end_ms: 2600 });
});
