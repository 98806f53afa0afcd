import assert from "node:assert/strict";
import { test } from "node:test";
import { GainCurve } from "../src/timing/gain_curve.ts";
import { PlayHead } from "../src/timing/play_head.ts";

const ONCE = { lengthMs: 1000, isLooped: false };
const ROUND = { lengthMs: 1000, isLooped: true };

function played(head: PlayHead, bounds: typeof ONCE, untilMs: number): number[][] {
  return head
    .pieces(bounds, untilMs)
    .map(({ startMs, endMs, sourceInMs, rate }) => [startMs, endMs, sourceInMs, rate]);
}

test("a clip that was never started stands at its beginning", () => {
  const head = new PlayHead();
  assert.equal(head.positionMs(500, ONCE), 0);
  assert.deepEqual(played(head, ONCE, 5000), []);
});

test("a clip that is played comes to its end and stays there", () => {
  const head = new PlayHead();
  head.turn(200, { rate: 1 }, ONCE);
  assert.deepEqual(
    [200, 700, 1200, 9000].map((atMs) => head.positionMs(atMs, ONCE)),
    [0, 500, 1000, 1000],
  );
  assert.equal(head.endMs(ONCE), 1200);
  assert.deepEqual(played(head, ONCE, 5000), [[200, 1200, 0, 1]]);
});

test("a looped clip begins again without a gap", () => {
  const head = new PlayHead();
  head.turn(0, { rate: 1, positionMs: 400 }, ROUND);
  assert.equal(head.positionMs(800, ROUND), 200);
  assert.deepEqual(played(head, ROUND, 2000), [
    [0, 600, 400, 1],
    [600, 1600, 0, 1],
    [1600, 2000, 0, 1],
  ]);
});

test("another speed goes on from where the clip stands", () => {
  const head = new PlayHead();
  head.turn(0, { rate: 1 }, ONCE);
  head.turn(400, { rate: 2 }, ONCE);
  assert.equal(head.positionMs(500, ONCE), 600);
  assert.deepEqual(played(head, ONCE, 5000), [
    [0, 400, 0, 1],
    [400, 700, 400, 2],
  ]);
});

test("what changes nothing cuts nothing", () => {
  const head = new PlayHead();
  head.turn(0, { rate: 1 }, ONCE);
  head.turn(400, { rate: 1, keepsPitch: true }, ONCE);
  assert.deepEqual(played(head, ONCE, 5000), [[0, 1000, 0, 1]]);
});

test("a stop and a seek leave the pieces that were heard", () => {
  const head = new PlayHead();
  head.turn(0, { rate: 1 }, ONCE);
  head.turn(300, { rate: 0 }, ONCE);
  head.turn(500, { positionMs: 900 }, ONCE);
  head.turn(600, { rate: 1 }, ONCE);
  assert.deepEqual(played(head, ONCE, 5000), [
    [0, 300, 0, 1],
    [600, 700, 900, 1],
  ]);
});

test("a gain that never changes is one number", () => {
  const curve = new GainCurve(1);
  curve.set(0, 0.5);
  assert.deepEqual(curve.between(0, 1000), { gain: 0.5, gains: [] });
});

test("a fade in steps of frames is one line after the other", () => {
  const curve = new GainCurve(1);
  for (const [atMs, gain] of [
    [1000, 1],
    [1033, 0.9],
    [1066, 0.8],
  ] as const)
    curve.set(atMs, gain);
  assert.deepEqual(curve.between(0, 2000).gains, [
    [0, 1],
    [1000, 1],
    [1033, 0.9],
    [1066, 0.8],
  ]);
  assert.deepEqual(curve.between(0, 900), { gain: 1, gains: [] });
  assert.deepEqual(curve.between(1500, 2000), { gain: 0.8, gains: [] });
});

test("a single change is a step too short to click", () => {
  const curve = new GainCurve(1);
  curve.set(1000, 0);
  assert.deepEqual(curve.between(0, 2000).gains, [
    [0, 1],
    [1000, 1],
    [1005, 0],
  ]);
});

test("a change within a step goes on from where the step is", () => {
  const curve = new GainCurve(0);
  // As scripts do that unmute a clip and set its volume.
  curve.set(1000, 1);
  curve.set(1000, 0.5);
  curve.set(1002.5, 0);
  assert.deepEqual(curve.between(0, 2000).gains, [
    [0, 0],
    [1000, 0],
    [1000, 0],
    [1002.5, 0.25],
    [1007.5, 0],
  ]);
});

test("films of few frames fade over longer steps", () => {
  const curve = new GainCurve(1, () => 200);
  curve.set(200, 0.8);
  curve.set(400, 0.6);
  assert.deepEqual(curve.between(0, 1000).gains, [
    [0, 1],
    [200, 1],
    [205, 0.8],
    [400, 0.6],
  ]);
});
