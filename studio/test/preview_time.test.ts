import assert from "node:assert/strict";
import { test } from "node:test";
import { clockText, frameAt, framesIn, readRate, secondsOf } from "../src/preview/model.ts";

const RATES = ["24/1", "24000/1001", "25/1", "30000/1001", "30/1", "60000/1001", "120/1"];

test("the instant of a frame shows that frame, for an hour of every rate", () => {
  for (const text of RATES) {
    const rate = readRate(text);
    const count = Math.floor((3600 * rate.numerator) / rate.denominator);
    for (let frame = 0; frame < count; frame += 7) {
      assert.equal(frameAt(secondsOf(frame, rate), rate), frame, `${text} ${frame}`);
    }
  }
});

test("just before the instant of a frame, the one before is shown", () => {
  const rate = readRate("30000/1001");
  for (const frame of [1, 29, 30, 1799, 107_891]) {
    assert.equal(frameAt(secondsOf(frame, rate) - 1e-6, rate), frame - 1);
  }
});

test("frames that pass are counted from the start, at any speed", () => {
  const rate = readRate("30000/1001");
  assert.equal(framesIn(1001, 1, rate), 30_000);
  assert.equal(framesIn(1001, 0.25, rate), 7500);
  assert.equal(framesIn(0.0333, 1, rate), 0);
  assert.equal(framesIn(-1, 1, rate), 0);
});

test("times are written with milliseconds", () => {
  assert.equal(clockText(0), "0:00.000");
  assert.equal(clockText(62.5), "1:02.500");
  assert.equal(clockText(59.9996), "1:00.000");
});
