import assert from "node:assert/strict";
import { test } from "node:test";
import type { Annotation } from "../src/review/boxes.ts";
import {
  corrected,
  correctionOf,
  itemsOf,
  mutesOf,
  readDraft,
  replaced,
  transcriptOf,
} from "../src/review/correction.ts";
import { apart } from "../src/review/boxes.ts";
import { FrameTimes } from "../src/review/frames.ts";
import { beginHistory, record, redo, undo } from "../src/review/history.ts";

const FACE: Annotation = {
  kind: "face",
  start_ms: 0,
  end_ms: 10,
  keyframes: [{ t_ms: 0, x: 0, y: 0, w: 1, h: 1 }],
};
const PLATE: Annotation = { ...FACE, kind: "plate", mine: 7 };
const WORD: Annotation = { kind: "speech.word", start_ms: 5, end_ms: 9, text: "hello" };
const ITEMS = itemsOf([{ annotations: [FACE, WORD] }, { annotations: [PLATE] }]);

test("frames are found by their listed times, also at a variable rate", () => {
  const frames = new FrameTimes({ tick_s: [1, 24000], starts: [0, 1001, 5005, 6006], end: 7007 });
  assert.equal(frames.count, 4);
  for (let number = 0; number < 4; number += 1) {
    const { fromMs, untilMs } = frames.span(number);
    assert.equal(frames.at(fromMs), number);
    assert.equal(frames.at((fromMs + untilMs) / 2), number);
    assert.equal(frames.played(Math.floor(fromMs * 1000) / 1e6), number);
  }
  assert.equal(frames.at(-1), 0);
  assert.equal(frames.at(1e9), 3);
  assert.equal(frames.span(3).untilMs, frames.endMs);
});

test("marks are the frames in which annotations begin, end or have keyframes", () => {
  const starts = Array.from({ length: 100 }, (_, number) => number);
  const frames = new FrameTimes({ tick_s: [1, 10], starts, end: 100 });
  const at = (t_ms: number) => ({ t_ms, x: 0, y: 0, w: 1, h: 1 });
  const face = { kind: "face", start_ms: 1000, end_ms: 5000, keyframes: [at(1000), at(2050)] };
  const all = [face, { kind: "voice", start_ms: 3000, end_ms: 4000 }];
  const walk = (from: number, step: number, of: readonly Annotation[]): number[] => {
    const next = frames.mark(from, step, of);
    return next === from ? [] : [next, ...walk(next, step, of)];
  };
  assert.deepEqual(walk(0, 1, [face]), [10, 20, 50]);
  assert.deepEqual(walk(99, -1, all), [50, 40, 30, 20, 10]);
  assert.deepEqual(walk(0, 1, []), []);
});

test("a correction has all annotations of the kinds that changed, and no others", () => {
  assert.equal(correctionOf(ITEMS, ITEMS), null);
  const later = { ...FACE, end_ms: 20 };
  assert.deepEqual(correctionOf(ITEMS, replaced(ITEMS, 0, later)), {
    annotations: [later],
    reviewed_kinds: ["face"],
  });
  const gone = correctionOf(ITEMS, ITEMS.slice(0, 2));
  assert.deepEqual(gone, { annotations: [], reviewed_kinds: ["plate"] });
});

test("a renamed annotation corrects both kinds, and keeps fields of others", () => {
  const found = correctionOf(ITEMS, replaced(ITEMS, 2, { ...PLATE, kind: "face" }));
  assert.deepEqual(found?.reviewed_kinds, ["face", "plate"]);
  assert.equal(found?.annotations.at(-1)?.["mine"], 7);
});

test("a decided task shows what was approved", () => {
  const after = replaced(ITEMS, 0, { ...FACE, end_ms: 20 });
  const shown = corrected(ITEMS, correctionOf(ITEMS, after));
  assert.equal(correctionOf(after, shown), null);
  assert.equal(new Set(shown.map(({ id }) => id)).size, shown.length);
});

test("words can be muted; annotations with boxes are hidden instead", () => {
  assert.deepEqual(transcriptOf(ITEMS), [WORD]);
  assert.deepEqual(
    mutesOf(ITEMS, ["speech.word", "face"]).map(({ id }) => id),
    [1],
  );
});

test("what was said is not shown twice, as a sentence and as words", () => {
  const sentence = { kind: "speech.segment", start_ms: 5, end_ms: 9, text: "hello" };
  assert.deepEqual(transcriptOf(itemsOf([{ annotations: [sentence, WORD] }])), [WORD]);
  assert.deepEqual(transcriptOf(itemsOf([{ annotations: [sentence] }])), [sentence]);
});

test("keyframes that would cover each other are shown as one", () => {
  const keyframes = [0, 4, 8, 12, 16, 40].map((t_ms) => ({ t_ms, x: 0, y: 0, w: 1, h: 1 }));
  const times = (now: number): number[] => apart(keyframes, 10, now).map(({ t_ms }) => t_ms);
  assert.deepEqual(times(99), [0, 12, 40]);
  assert.deepEqual(times(8), [0, 8, 12, 40]);
});

test("what is no draft is not read as one", () => {
  assert.deepEqual(readDraft(JSON.stringify(ITEMS)), ITEMS);
  for (const text of ["", "{}", "[1]", '[{"id": 1}]', "null"]) assert.equal(readDraft(text), null);
});

test("steps are undone and redone; one drag is one step", () => {
  let history = beginHistory(0);
  history = record(history, 1, "drag 1");
  history = record(history, 2, "drag 1");
  history = record(history, 3);
  assert.equal(undo(history).present, 2);
  assert.equal(undo(undo(history)).present, 0);
  assert.equal(undo(undo(undo(history))).present, 0);
  assert.equal(redo(undo(history)).present, 3);
  assert.equal(redo(history).present, 3);
  assert.deepEqual(record(undo(history), 9).future, []);
});
