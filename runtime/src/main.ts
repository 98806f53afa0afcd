/**
 * The page contract, version 1. The renderer puts this script before all others and then talks
 * to `__framekiln` only; `capture/page.py` is the other side.
 */

import { ExactClock, type FrameRate, type Zero } from "./clock.ts";
import { describePage } from "./describe.ts";
import { installPageTime, restartAnimations } from "./page_time.ts";
import { seededRandom } from "./random.ts";
import { Readiness } from "./readiness.ts";

interface Config {
  readonly epochMs: number;
  readonly seed: number;
}

declare const __FRAMEKILN_CONFIG__: Config;

function install(config: Config): void {
  const clock = new ExactClock(performance.now.bind(performance));
  const readiness = new Readiness();
  const frames = installPageTime(clock, config.epochMs);
  Math.random = seededRandom(config.seed);
  Object.defineProperty(window, "__framekiln", {
    value: Object.freeze({
      version: 1,
      pending: () => readiness.pending(),
      failure: () => readiness.failure(),
      describe: () => describePage(),
      step: () => frames.step(),
      begin: (zero: Zero, rate: FrameRate) => {
        clock.begin(zero, rate);
        if (zero.tickMs > 0) restartAnimations(zero.tickMs);
        frames.release();
      },
    }),
  });
}

install(__FRAMEKILN_CONFIG__);
