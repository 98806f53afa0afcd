/**
 * Animations that ran before frame 0, while the page delayed it (`window.renderReady`).
 *
 * Frames are drawn meanwhile, so animations move, and one without fill is gone when it ends. All of
 * them are set back as if no time had passed.
 */

import { animationsOfPage } from "./shadow_roots.ts";

export class EarlyAnimations {
  private readonly seen = new Set<Animation>();

  /** Called before each frame that is drawn meanwhile. */
  record(): void {
    for (const animation of animationsOfPage()) this.seen.add(animation);
  }

  /** What runs goes back by the time that has passed, and what started meanwhile to its start. */
  rewind(passedMs: number): void {
    for (const animation of new Set([...this.seen, ...animationsOfPage()])) {
      const { currentTime, playbackRate, playState } = animation;
      if (playState === "paused" || playState === "idle") continue;
      if (typeof currentTime !== "number" || hasItsEffect(animation)) continue;
      animation.currentTime = Math.max(0, currentTime - passedMs * playbackRate);
    }
    this.seen.clear();
  }
}

/** A transition that has ended has left the page as it should be. */
function hasItsEffect(animation: Animation): boolean {
  return animation instanceof CSSTransition && animation.playState === "finished";
}
