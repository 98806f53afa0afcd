import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ExactClock, frameTimeMs, snapToFrame, snapToTimer } from "../src/clock.ts";

const NTSC = { numerator: 30000, denominator: 1001 };

describe("snapping", () => {
  it("finds every frame of an hour at 29.97 fps through the blur", () => {
    for (let frame = 0; frame < 107_892; frame += 97) {
      const exactMs = frameTimeMs(frame, NTSC);
      for (const blurMs of [-0.1, 0, 0.1]) {
        assert.equal(snapToFrame(exactMs + blurMs, NTSC), exactMs);
      }
    }
  });

  it("does not take an instant between two frames for a frame", () => {
    assert.equal(snapToFrame(50, NTSC), null);
  });

  it("counts a timer in whole milliseconds from where it was set", () => {
    assert.equal(snapToTimer(1033.41, 33.366666), 1033.366666);
    assert.equal(snapToTimer(1033.9, 33.366666), null);
  });
});

describe("ExactClock", () => {
  it("reads the same instant however the native clock is blurred", () => {
    let nativeMs = 0;
    const clock = new ExactClock(() => nativeMs);
    clock.begin({ virtualMs: 0, tickMs: 0 }, NTSC);
    nativeMs = 33.4;
    assert.equal(clock.now(), frameTimeMs(1, NTSC));
    nativeMs = 33.3;
    assert.equal(clock.now(), frameTimeMs(1, NTSC));
  });

  it("gives timers their exact instant and frames theirs", () => {
    let nativeMs = 0;
    const clock = new ExactClock(() => nativeMs);
    clock.begin({ virtualMs: 0, tickMs: 0 }, NTSC);
    nativeMs = 100.1;
    assert.equal(clock.enterTimer(0), 100);
    assert.equal(clock.now(), 100);
    assert.equal(clock.enterFrame(133.4), frameTimeMs(4, NTSC));
  });

  it("does not take a still between two frames for the frame before", () => {
    const clock = new ExactClock(() => 0);
    clock.begin({ virtualMs: 0, tickMs: 0.1 }, NTSC);
    assert.equal(clock.enterFrame(33.4), frameTimeMs(1, NTSC));
    assert.equal(clock.enterFrame(1234.12), 1234);
  });

  it("does not count what passed before frame 0", () => {
    let nativeMs = 250.1;
    const clock = new ExactClock(() => nativeMs);
    clock.begin({ virtualMs: 250, tickMs: 0.1 }, NTSC);
    assert.equal(clock.now(), 0);
    nativeMs = 283.4;
    assert.equal(clock.now(), frameTimeMs(1, NTSC));
  });
});
