import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AudioClock, QUANTUM } from "../src/web_audio/audio_clock.ts";

describe("AudioClock", () => {
  it("renders whole quanta, each once, at every rate of frames", () => {
    for (const fps of [24, 30000 / 1001, 30, 60]) {
      const clock = new AudioClock(48_000, 0);
      let next = 0;
      for (let frame = 0; frame < 200; frame += 1) {
        for (const run of clock.due((frame * 1000) / fps)) {
          assert.equal(run.from, next);
          assert.equal(run.place, run.from);
          assert.equal(run.to % QUANTUM, 0);
          next = run.to;
        }
        const exact = (frame * 48_000) / fps;
        assert.ok(next <= exact + 1 && next > exact - QUANTUM);
      }
    }
  });

  it("shows the film's time since it began", () => {
    const clock = new AudioClock(48_000, 1000);
    assert.equal(clock.currentTime(1000), 0);
    assert.equal(clock.currentTime(1250), 0.25);
    assert.equal(clock.due(1250)[0]?.place, 48_000);
  });

  it("stands still while it is suspended, and is heard later by as much", () => {
    const clock = new AudioClock(48_000, 0);
    clock.suspend(160);
    assert.equal(clock.currentTime(400), 0.16);
    clock.resume(480);
    assert.equal(clock.currentTime(500), 0.18);
    assert.deepEqual(clock.due(500), [
      { from: 0, to: 7680, place: 0 },
      { from: 7680, to: 8576, place: 23_040 },
    ]);
    clock.suspend(500);
    assert.deepEqual(clock.due(9000), []);
  });
});
