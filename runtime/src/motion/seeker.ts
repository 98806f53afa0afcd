/** Puts a page at the time of any frame, without drawing it, just as its film would. */

import { followsTime } from "../animation.ts";
import { frameTickMs, frameTimeMs, type FrameRate } from "../clock.ts";
import { timeTree } from "../elements/timed.ts";

export interface Driven {
  readonly hasWork: boolean;
  aroundTasks: (run: () => boolean) => boolean;
  frame(nowMs: number): void;
}

export class Seeker {
  private readonly driver: Driven;
  private readonly rate: FrameRate;
  /** What scripts have changed in each frame, if they run no more. */
  changes: { seek(frame: number): void } | null = null;
  /** Where each animation of the page's own stands at frame 0; null for one that is paused. */
  private readonly startsMs = new Map<Animation, number | null>();

  constructor(driver: Driven, rate: FrameRate) {
    this.driver = driver;
    this.rate = rate;
  }

  seek(frame: number): void {
    const exactMs = frameTimeMs(frame, this.rate);
    if (this.driver.hasWork) this.driver.frame(exactMs);
    this.changes?.seek(frame);
    const tickMs = frameTickMs(exactMs);
    // One that has ended without a fill is not listed any more.
    const all = new Set([...this.startsMs.keys(), ...document.getAnimations()]);
    for (const animation of all) this.move(animation, tickMs);
  }

  private move(animation: Animation, tickMs: number): void {
    const { effect } = animation;
    if (animation instanceof CSSTransition || !(effect instanceof KeyframeEffect)) return;
    if (!followsTime(animation)) return;
    if (effect.target === null || timeTree.nearest(effect.target) !== null) return;
    const isEnded = this.startsMs.has(animation) && animation.playState === "idle";
    const startMs = isEnded ? null : this.startOf(animation);
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
