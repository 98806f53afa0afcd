import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  boxAt,
  boxIn,
  drawn,
  hasBoxes,
  hiddenArea,
  hiddenPixels,
  instantIn,
  moved,
  resized,
  withBox,
  withoutKeyframe,
  withSpan,
  type Annotation,
  type Box,
} from "../src/review/boxes.ts";

interface Case {
  name: string;
  annotation: Annotation;
  from_ms: number;
  until_ms: number;
  width_px: number;
  height_px: number;
  expected: { area: number[]; pixels: number[] } | null;
}

const CASES: Case[] = JSON.parse(
  readFileSync(new URL("redaction_cases.json", import.meta.url), "utf8"),
);
const FRAME = { fromMs: 500, untilMs: 540 };
const FACE: Annotation = {
  kind: "face",
  start_ms: 0,
  end_ms: 1000,
  keyframes: [
    { t_ms: 0, x: 0, y: 0, w: 0.2, h: 0.2 },
    { t_ms: 1000, x: 0.8, y: 0.4, w: 0.2, h: 0.2 },
  ],
};

function near(found: Box, expected: Box): void {
  for (const name of ["x", "y", "w", "h"] as const) {
    assert.ok(Math.abs(found[name] - expected[name]) < 1e-9, `${name}: ${found[name]}`);
  }
}

for (const each of CASES) {
  test(`the studio hides what the renderer hides: ${each.name}`, () => {
    const area = hiddenArea(each.annotation, { fromMs: each.from_ms, untilMs: each.until_ms });
    if (each.expected === null) return assert.equal(area, null);
    assert.ok(area !== null);
    const [left = 0, top = 0, right = 0, bottom = 0] = each.expected.area;
    near(area, { x: left, y: top, w: right - left, h: bottom - top });
    const pixels = hiddenPixels(area, each.width_px, each.height_px);
    assert.deepEqual([pixels.left, pixels.top, pixels.right, pixels.bottom], each.expected.pixels);
  });
}

test("a box moves in a straight line between keyframes", () => {
  near(boxAt(FACE.keyframes!, 250), { x: 0.2, y: 0.1, w: 0.2, h: 0.2 });
  near(boxAt(FACE.keyframes!, -5), { x: 0, y: 0, w: 0.2, h: 0.2 });
  near(boxAt(FACE.keyframes!, 2000), { x: 0.8, y: 0.4, w: 0.2, h: 0.2 });
});

test("a box that is put into a frame becomes its only keyframe", () => {
  const box = { x: 0.5, y: 0.5, w: 0.1, h: 0.1 };
  const once = withBox(FACE, FRAME, box);
  assert.deepEqual(
    once.keyframes!.map(({ t_ms }) => t_ms),
    [0, 500.001, 1000],
  );
  const twice = withBox(once, FRAME, moved(box, 0.1, 0));
  assert.equal(twice.keyframes!.length, 3);
  near(twice.keyframes![1]!, { x: 0.6, y: 0.5, w: 0.1, h: 0.1 });
});

test("a keyframe between two frames keeps its time when it is moved", () => {
  const found = withBox(FACE, FRAME, { x: 0, y: 0, w: 0.1, h: 0.1 });
  found.keyframes![1]!.t_ms = 512;
  assert.equal(withBox(found, FRAME, { x: 0.2, y: 0, w: 0.1, h: 0.1 }).keyframes![1]!.t_ms, 512);
});

test("a keyframe lies in its frame, not in the one before, however its time is rounded", () => {
  assert.equal(instantIn({ fromMs: 0, untilMs: 40 }), 0);
  for (let number = 1; number < 3000; number += 1) {
    const span = { fromMs: (number * 1001) / 30, untilMs: ((number + 1) * 1001) / 30 };
    // Compared in whole numbers: the frame begins at number x 1001000 / 30 microseconds.
    const microseconds = Math.round(instantIn(span) * 1000);
    assert.ok(microseconds * 30 > number * 1_001_000, String(number));
    assert.ok(microseconds * 30 < (number + 1) * 1_001_000, String(number));
  }
});

test("a frame shows the box of its keyframe, also if that is later in the frame", () => {
  const later = withBox(FACE, FRAME, { x: 0.5, y: 0.5, w: 0.1, h: 0.1 });
  later.keyframes![1]!.t_ms = 530;
  assert.ok(hasBoxes(later));
  near(boxIn(later, FRAME), { x: 0.5, y: 0.5, w: 0.1, h: 0.1 });
});

test("a box outside of its time extends it", () => {
  const later = { fromMs: 1200, untilMs: 1240 };
  assert.equal(withBox(FACE, later, { x: 0, y: 0, w: 0.1, h: 0.1 }).end_ms, 1200.001);
});

test("the last keyframe cannot be removed, because the sound would be muted instead", () => {
  const one = { ...FACE, keyframes: [FACE.keyframes![0]!] };
  assert.equal(withoutKeyframe(one, { fromMs: 0, untilMs: 40 }), one);
  assert.equal(withoutKeyframe(FACE, { fromMs: 0, untilMs: 40 }).keyframes!.length, 1);
});

test("an annotation that is cut off keeps its path", () => {
  const cut = withSpan(FACE, 250, 750);
  assert.deepEqual([cut.start_ms, cut.end_ms], [250, 750]);
  for (const ms of [250, 400, 750]) near(boxAt(cut.keyframes!, ms), boxAt(FACE.keyframes!, ms));
  assert.ok(cut.keyframes!.every(({ t_ms }) => t_ms >= 250 && t_ms <= 750));
});

test("a box stays in the picture, whatever is done to it", () => {
  const box = { x: 0.7, y: 0.1, w: 0.2, h: 0.2 };
  near(moved(box, 5, -5), { x: 0.8, y: 0, w: 0.2, h: 0.2 });
  near(resized(box, { across: 1, down: -1 }, 9, -9), { x: 0.7, y: 0, w: 0.3, h: 0.3 });
  assert.ok(resized(box, { across: -1, down: 0 }, 9, 0).w > 0);
  near(drawn(1.5, 0.5, 0.25, -1)!, { x: 0.25, y: 0, w: 0.75, h: 0.5 });
  assert.equal(drawn(0.5, 0.5, 0.501, 0.9), null);
  for (let step = 0; step < 1000; step += 1) {
    const x = Math.random();
    const [own] = withBox({ ...FACE, keyframes: [] }, FRAME, {
      x,
      y: x,
      w: 1 - x,
      h: 1,
    }).keyframes!;
    assert.ok(own!.x + own!.w <= 1 && own!.y + own!.h <= 1, JSON.stringify(own));
  }
});
