/** Which elements are shown in which frames of a film, and what captions show in each. */

import { frameTimeMs, type FrameRate } from "./clock.ts";
import { isSeen } from "./driver.ts";
import { CaptionsElement } from "./elements/captions.ts";
import { timeTree, type TimedElement } from "./elements/timed.ts";
import { isVisibleAt } from "./timing/model.ts";

/** The frame from which on captions show something, and what that is. */
export type CaptionRuns = readonly (readonly [number, string])[];

const NEVER: readonly [number, number] = [0, -1];

export class FilmFrames {
  private readonly rate: FrameRate;
  private readonly count: number;

  constructor(rate: FrameRate, count: number) {
    this.rate = rate;
    this.count = count;
  }

  /** The first and the last frame in which the element itself is not hidden. */
  shownFrames(element: TimedElement): readonly [number, number] {
    const place = timeTree.find(element);
    if (place === null) return [0, this.count - 1];
    const rootEndMs = place.root.span.endMs;
    const isShown = (frame: number): boolean => {
      const ms = frameTimeMs(frame, this.rate);
      const nowMs = rootEndMs > 0 ? Math.min(ms, rootEndMs) : ms;
      return isVisibleAt(place.node, place.span, { nowMs, rootEndMs });
    };
    let first = Math.max(0, this.frameBefore(place.span.startMs));
    // What is shown at the end of its root stays there, however long the film is.
    let last = isShown(this.count - 1) ? this.count - 1 : this.frameBefore(place.span.endMs) + 2;
    while (first <= last && !isShown(first)) first += 1;
    while (first <= last && !isShown(last)) last -= 1;
    return first <= last ? [first, last] : NEVER;
  }

  /** What all captions show in each frame, by the frame from which on they show it. */
  captions(countsWords: boolean): Map<Element, CaptionRuns> {
    const places = timeTree.all().filter(({ element }) => element instanceof CaptionsElement);
    const found = new Map<Element, [number, string][]>(places.map(({ element }) => [element, []]));
    const { nowMs } = timeTree;
    for (let frame = 0; frame < this.count && places.length > 0; frame += 1) {
      timeTree.nowMs = frameTimeMs(frame, this.rate);
      for (const place of places) {
        const runs = found.get(place.element);
        const shown = isSeen(place)
          ? (place.element as CaptionsElement).describeAt(timeTree.ownMs(place), countsWords)
          : "";
        if (runs?.at(-1)?.[1] !== shown) runs?.push([frame, shown]);
      }
    }
    timeTree.nowMs = nowMs;
    return found;
  }

  private frameBefore(ms: number): number {
    return Math.floor((ms * this.rate.numerator) / (1000 * this.rate.denominator)) - 1;
  }
}
