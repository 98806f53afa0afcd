/**
 * Preview: plays the composition in an ordinary tab, by the clock on the wall.
 *
 * Pictures and sound come from the browser's own players, which are kept in step.
 */

import type { Driver } from "./driver.ts";
import { isSeen } from "./driver.ts";
import { MediaElement } from "./elements/media.ts";
import { timeTree } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";
import type { Playback } from "./playback.ts";

export class Player implements Playback {
  isPlaying = false;
  private readonly driver: Driver;
  private nowMs = 0;
  private lastStampMs: number | null = null;

  constructor(driver: Driver) {
    this.driver = driver;
  }

  /** Show the page from now on, at first standing still at its beginning. */
  start(): void {
    const tick = (stampMs: number): void => {
      requestAnimationFrame(tick);
      this.step(stampMs);
    };
    requestAnimationFrame(tick);
  }

  play(): void {
    if (this.nowMs >= this.lengthMs()) this.nowMs = 0;
    this.isPlaying = true;
    this.lastStampMs = null;
    this.dispatch("play");
  }

  pause(): void {
    this.isPlaying = false;
    this.dispatch("pause");
  }

  seek(ms: number): void {
    this.nowMs = Math.min(Math.max(0, ms), this.lengthMs());
    this.show();
    this.dispatch("seeked");
  }

  private step(stampMs: number): void {
    // Runs what initializers there are as soon as everything they need is known.
    this.driver.pending();
    const passedMs = this.lastStampMs === null ? 0 : stampMs - this.lastStampMs;
    this.lastStampMs = stampMs;
    if (this.isPlaying) this.nowMs += passedMs;
    if (this.isPlaying && this.nowMs >= this.lengthMs()) this.end();
    this.show();
  }

  private end(): void {
    if (this.root()?.hasAttribute("loop") && this.lengthMs() > 0) {
      this.nowMs %= this.lengthMs();
      return;
    }
    this.nowMs = this.lengthMs();
    this.isPlaying = false;
    this.dispatch("ended");
  }

  private show(): void {
    this.driver.frame(this.nowMs);
    for (const place of timeTree.all()) {
      const { element } = place;
      if (!(element instanceof MediaElement)) continue;
      element.play(timeTree.ownMs(place), this.isPlaying && isSeen(place));
    }
  }

  private root(): TimegroupElement | null {
    const first = timeTree.all().find(({ element }) => element instanceof TimegroupElement);
    return (first?.element as TimegroupElement | undefined) ?? null;
  }

  private lengthMs(): number {
    return this.root()?.durationMs ?? 0;
  }

  private dispatch(name: string): void {
    this.root()?.dispatchEvent(new CustomEvent(name));
  }
}
