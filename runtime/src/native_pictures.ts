/** Every <img> that is animated: found when it is loaded, then shown by the film's time. */

import type { FilmClock } from "./film_clock.ts";
import { MovingPicture } from "./moving_picture.ts";
import { StandIn } from "./native_stand_in.ts";

interface Moving {
  readonly url: string;
  /** The time at which it began, by the clock that times it. */
  readonly sinceMs: number;
  readonly picture: MovingPicture;
  readonly standIn: StandIn;
}

export class NativePictures {
  private readonly clock: FilmClock;
  /** Not looked at yet, and when each came or got another source. */
  private readonly unchecked = new Map<HTMLImageElement, number>();
  private readonly moving = new Map<HTMLImageElement, Moving>();

  constructor(clock: FilmClock) {
    this.clock = clock;
  }

  get hasAny(): boolean {
    return this.unchecked.size > 0 || this.moving.size > 0;
  }

  /** An image has come, or its source has changed. */
  take(image: HTMLImageElement): void {
    this.unchecked.set(image, this.clock.hasBegun() ? (this.timeOf(image) ?? 0) : 0);
  }

  /** Look at those that have been loaded since. */
  check(): void {
    for (const [image, sinceMs] of this.unchecked) {
      if (!image.isConnected) this.unchecked.delete(image);
      if (!image.complete || !image.isConnected) continue;
      this.unchecked.delete(image);
      this.replace(image, sinceMs);
    }
  }

  /** One frame: each at its time. */
  update(): void {
    if (this.unchecked.size > 0) this.check();
    for (const [image, { picture, standIn, sinceMs }] of this.moving) {
      if (!image.isConnected) {
        standIn.leave();
        this.moving.delete(image);
        continue;
      }
      const nowMs = this.timeOf(image);
      if (nowMs === null) continue;
      picture.show(nowMs - sinceMs);
      standIn.place(picture.animation);
    }
  }

  private replace(image: HTMLImageElement, sinceMs: number): void {
    const before = this.moving.get(image);
    const url = image.currentSrc;
    if (before?.url === url) return;
    before?.standIn.leave();
    this.moving.delete(image);
    const picture = MovingPicture.of(image);
    if (picture === null) return;
    const standIn = new StandIn(image, picture.canvas);
    this.moving.set(image, { url, sinceMs, picture, standIn });
  }

  /** The time of the group around it, or the film's; null while the group is hidden. */
  private timeOf(image: HTMLImageElement): number | null {
    const { clock } = this;
    return clock.isTimed(image) ? clock.ownMsAround(image) : clock.nowMs();
  }
}
