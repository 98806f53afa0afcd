import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isVisibleAt,
  layOut,
  ownLengthMs,
  ownTimeMs,
  sourceTimeMs,
  steppedMs,
  type Span,
  type TimeNode,
} from "../src/timing/model.ts";

const PLAIN: TimeNode = {
  isGroup: false,
  isMedia: false,
  mode: null,
  durationMs: null,
  intrinsicMs: null,
  offsetMs: 0,
  overlapMs: 0,
  sourceInMs: null,
  sourceOutMs: null,
  trimStartMs: null,
  trimEndMs: null,
  fps: null,
  participates: true,
  isVisibleAtEnd: false,
  children: [],
};

type Given = Partial<TimeNode>;

const group = (given: Given, ...children: TimeNode[]): TimeNode => ({
  ...PLAIN,
  ...given,
  isGroup: true,
  children,
});
const fixed = (seconds: number, ...children: TimeNode[]): TimeNode =>
  group({ mode: "fixed", durationMs: seconds * 1000 }, ...children);
const media = (seconds: number, given: Given = {}): TimeNode => ({
  ...PLAIN,
  isMedia: true,
  intrinsicMs: seconds * 1000,
  ...given,
});
const image = (given: Given = {}): TimeNode => ({ ...PLAIN, ...given });

function spanIn(root: TimeNode, node: TimeNode): Span {
  const span = layOut(root).spans.get(node);
  assert.ok(span);
  return span;
}

const startsIn = (root: TimeNode): number[] =>
  root.children.map((child) => spanIn(root, child).startMs);

test("a sequence of three scenes with an overlap", () => {
  const root = group({ mode: "sequence", overlapMs: 1000 }, fixed(3), fixed(3), fixed(3));
  assert.equal(ownLengthMs(root), 7000);
  assert.deepEqual(startsIn(root), [0, 2000, 4000]);
});

test("contain lasts as long as its longest child", () => {
  const root = group({}, group({ mode: "sequence" }, fixed(3), fixed(5)), fixed(6));
  assert.equal(ownLengthMs(root), 8000);
});

test("fit takes its parent's length and gives it none", () => {
  const overlay = group({ mode: "fit" });
  const root = group({ mode: "contain" }, fixed(6), overlay);
  assert.equal(ownLengthMs(root), 6000);
  assert.equal(spanIn(root, overlay).lengthMs, 6000);
  assert.equal(layOut(group({ mode: "fit" }, fixed(2))).spans.size, 2);
  assert.equal(ownLengthMs(group({ mode: "fit" }, fixed(2))), null);
});

test("source-in and source-out are a window of the source", () => {
  const clip = media(10, { sourceInMs: 2000, sourceOutMs: 6000 });
  const span = spanIn(group({}, clip), clip);
  assert.equal(span.lengthMs, 4000);
  assert.equal(sourceTimeMs(span, 1000), 3000);
});

test("trims are cut from both ends and win over the window", () => {
  const clip = media(10, { trimStartMs: 2000, trimEndMs: 3000, sourceInMs: 1, sourceOutMs: 2 });
  const span = spanIn(group({}, clip), clip);
  assert.equal(span.lengthMs, 5000);
  assert.equal(sourceTimeMs(span, 0), 2000);
});

test("no length is negative", () => {
  assert.equal(ownLengthMs(media(1, { trimStartMs: 2000 })), 0);
  assert.equal(ownLengthMs(media(9, { sourceInMs: 5000, sourceOutMs: 2000 })), 0);
  assert.equal(ownLengthMs(group({ mode: "sequence", overlapMs: 9000 }, fixed(1), fixed(1))), 0);
});

test("a window ends with its source", () => {
  assert.equal(ownLengthMs(media(5, { sourceInMs: 1000, sourceOutMs: 60_000 })), 4000);
});

test("text without a duration is as long as its units, or as its parent", () => {
  const words = image({ intrinsicMs: 4000 });
  assert.equal(ownLengthMs(group({}, words)), 4000);
  const inherited = image();
  assert.equal(spanIn(fixed(7, inherited), inherited).lengthMs, 7000);
});

test("a group with a duration and no mode is a fixed scene", () => {
  assert.equal(ownLengthMs(group({ durationMs: 3000 }, fixed(9))), 3000);
  assert.equal(ownLengthMs(group({ durationMs: 3000, mode: "contain" }, fixed(9))), 9000);
});

test("a duration on media cuts it short or holds its last picture", () => {
  const short = media(10, { durationMs: 4000, sourceInMs: 1000 });
  assert.equal(ownLengthMs(short), 4000);
  const long = media(2, { durationMs: 5000 });
  const span = spanIn(group({}, long), long);
  assert.equal(span.lengthMs, 5000);
  assert.equal(sourceTimeMs(span, 1500), 1500);
  assert.equal(sourceTimeMs(span, 4000), 1999);
});

test("sound that fits lies under a whole sequence without taking a turn", () => {
  const music = media(60, { mode: "fit" });
  const root = group({ mode: "sequence" }, fixed(3), music, fixed(5));
  assert.equal(ownLengthMs(root), 8000);
  assert.deepEqual(startsIn(root), [0, 0, 3000]);
  assert.equal(spanIn(root, music).lengthMs, 8000);
});

test("an overlap that leaves nothing of its scenes is warned of", () => {
  const { warnings } = layOut(group({ mode: "sequence", overlapMs: 2000 }, fixed(1), fixed(3)));
  assert.equal(warnings.length, 0);
  const [none, ...others] = layOut(
    group({}, group({ mode: "sequence", overlapMs: 4000 }, fixed(1), fixed(3))),
  ).warnings;
  assert.match(none?.message ?? "", /^has an overlap of 4000 ms, .* 2 scenes, of 4000 ms in all/);
  assert.equal(others.length, 0);
  assert.equal(layOut(group({ mode: "sequence", overlapMs: 4000 })).warnings.length, 0);
});

test("an image or an empty group takes no time in a sequence and is warned of", () => {
  const root = group({ mode: "sequence", overlapMs: 500 }, fixed(3), image(), fixed(2));
  assert.equal(ownLengthMs(root), 4500);
  assert.deepEqual(startsIn(root), [0, 2500, 2500]);
  assert.equal(layOut(root).warnings.length, 1);
  assert.equal(layOut(group({ mode: "sequence" }, group({}), fixed(1))).warnings.length, 1);
  const timed = group({ mode: "sequence" }, image({ durationMs: 2000 }), fixed(1));
  assert.equal(ownLengthMs(timed), 3000);
  assert.equal(layOut(timed).warnings.length, 0);
});

test("an offset moves a child and does not lengthen its parent", () => {
  const cue = media(1, { offsetMs: 2500 });
  const root = group({}, fixed(3), cue);
  assert.equal(ownLengthMs(root), 3000);
  assert.equal(spanIn(root, cue).startMs, 2500);
  assert.equal(spanIn(root, cue).endMs, 3500);
});

test("starts add up through nested groups", () => {
  const inner = fixed(1);
  const scene = group({ mode: "sequence" }, fixed(1), inner);
  const root = group({ mode: "sequence" }, fixed(2), scene);
  assert.equal(spanIn(root, inner).startMs, 3000);
});

test("a node shows from its start to just before its end", () => {
  const early = fixed(3);
  const late = fixed(3);
  const root = group({ mode: "sequence" }, early, late);
  const at = (node: TimeNode, nowMs: number): boolean =>
    isVisibleAt(node, spanIn(root, node), { nowMs, rootEndMs: 6000 });
  assert.deepEqual(
    [0, 2999, 3000].map((ms) => at(early, ms)),
    [true, true, false],
  );
  assert.deepEqual(
    [2999, 3000, 6000].map((ms) => at(late, ms)),
    [false, true, true],
  );
  assert.ok(at(root, 6000));
  const segment = image({ durationMs: 1000, isVisibleAtEnd: true });
  const inRoot = spanIn(fixed(3, segment), segment);
  assert.ok(isVisibleAt(segment, inRoot, { nowMs: 1000, rootEndMs: 3000 }));
  assert.ok(!isVisibleAt(segment, inRoot, { nowMs: 1001, rootEndMs: 3000 }));
});

test("what has no length is always seen and its clock runs on", () => {
  const empty = group({});
  const span = spanIn(fixed(3, empty), empty);
  assert.ok(isVisibleAt(empty, span, { nowMs: 2000, rootEndMs: 3000 }));
  assert.equal(ownTimeMs(span, 2000), 2000);
});

test("the own clock is held inside the element's length", () => {
  const late = group({ mode: "fixed", durationMs: 1000, offsetMs: 2000 });
  const span = spanIn(fixed(9, late), late);
  assert.deepEqual(
    [0, 2500, 8000].map((ms) => ownTimeMs(span, ms)),
    [0, 500, 1000],
  );
});

test("a nested rate moves the own clock in steps", () => {
  const frameMs = 1000 / 30;
  const stepped = [0, 1, 2, 3, 4, 5, 6].map((n) => steppedMs(n * frameMs, 10));
  assert.deepEqual(stepped, [0, 0, 0, 100, 100, 100, 200]);
  assert.equal(steppedMs(33.25, null), 33.25);
});

test("media that plays nothing of its source causes one warning", () => {
  const media = { ...PLAIN, isMedia: true, intrinsicMs: 4000 };
  for (const window of [
    { trimStartMs: 9000 },
    { trimStartMs: 3000, trimEndMs: 1000 },
    { sourceInMs: 2000, sourceOutMs: 1000 },
  ]) {
    for (const mode of ["fixed", "sequence"] as const) {
      const { warnings } = layOut(group({ mode, durationMs: 500 }, { ...media, ...window }));
      assert.equal(warnings.length, 1);
      assert.match(warnings[0]?.message ?? "", /plays nothing of its source, which lasts 4000 ms/);
    }
  }
  assert.equal(layOut(group({}, { ...media, trimStartMs: 3999 })).warnings.length, 0);
});
