/** Puts a page at the time of any frame, without drawing it, just as its film would. */

import { frameTickMs, frameTimeMs, type FrameRate } from "../clock.ts";
import { timeTree } from "../elements/timed.ts";

export interface Driven {
  readonly hasWork: boolean;
  frame(nowMs: number): void;
}

export class Seeker {
  private readonly driver: Driven;
  private readonly rate: FrameRate;
  /** Where each animation of the page's own stands at frame 0; null for one that is paused. */
  private readonly startsMs = new Map<Animation, number | null>();

  constructor(driver: Driven, rate: FrameRate) {
    this.driver = driver;
    this.rate = rate;
  }

  seek(frame: number): void {
    const exactMs = frameTimeMs(frame, this.rate);
    if (this.driver.hasWork) this.driver.frame(exactMs);
    const tickMs = frameTickMs(exactMs);
    for (const animation of document.getAnimations()) this.move(animation, tickMs);
  }

  private move(animation: Animation, tickMs: number): void {
    const { effect } = animation;
    if (animation instanceof CSSTransition || !(effect instanceof KeyframeEffect)) return;
    if (effect.target === null || timeTree.nearest(effect.target) !== null) return;
    const startMs = this.startOf(animation);
    if (startMs === null) return;
    if (animation.playState !== "paused") animation.pause();
    animation.currentTime = startMs + tickMs;
  }

  private startOf(animation: Animation): number | null {
    const known = this.startsMs.get(animation);
    if (known !== undefined) return known;
    const { currentTime, playState } = animation;
    const passedMs = typeof currentTime === "number" ? Math.round(currentTime) : 0;
    const startMs = playState === "paused" ? null : passedMs;
    this.startsMs.set(animation, startMs);
    return startMs;
  }
}
