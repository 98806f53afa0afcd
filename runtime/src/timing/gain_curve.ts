/**
 * How loud something was, from its start until now. Knows no DOM.
 *
 * Scripts fade by setting a volume in each frame. Between two settings that follow each other so
 * closely the gain is a straight line; any other is a step, so short that nothing clicks.
 */

export type GainPoint = readonly [atMs: number, gain: number];

/** Longer than a frame of most films: a fade that skips one is still a fade. */
const FADE_MS = 60;
const STEP_MS = 5;

export class GainCurve {
  private readonly points: [atMs: number, gain: number][];
  private setAtMs = Number.NEGATIVE_INFINITY;
  /** The longest time between two settings of one fade. */
  private readonly fadeMs: () => number;

  constructor(gain: number, frameMs: () => number = () => 0) {
    this.points = [[0, gain]];
    this.fadeMs = () => Math.max(FADE_MS, 1.5 * frameMs());
  }

  get gain(): number {
    return this.last[1];
  }

  set(atMs: number, gain: number): void {
    const { last } = this;
    const isFade = atMs - this.setAtMs <= this.fadeMs();
    this.setAtMs = atMs;
    if (gain === last[1]) {
      this.hold(atMs);
      return;
    }
    // Nothing was heard before the film began.
    if (atMs <= 0) {
      this.points.splice(0, this.points.length, [0, gain]);
      return;
    }
    if (atMs < last[0]) {
      this.cutStep(atMs);
      this.points.push([atMs + STEP_MS, gain]);
    } else if (isFade) this.points.push([atMs, gain]);
    else this.points.push([atMs, last[1]], [atMs + STEP_MS, gain]);
  }

  /** The gain in a stretch of time: one number, or points with a straight line between two. */
  between(startMs: number, endMs: number): { gain: number; gains: readonly GainPoint[] } {
    const first = Math.max(0, this.firstAfter(startMs) - 1);
    const audible = this.points.slice(first, this.firstAfter(endMs) + 1);
    const gain = audible[0]?.[1] ?? 0;
    if (audible.every((point) => point[1] === gain)) return { gain, gains: [] };
    return { gain: 1, gains: audible };
  }

  /** A fade goes on from here, though this setting changed nothing. */
  private hold(atMs: number): void {
    const { last } = this;
    const before = this.points[this.points.length - 2];
    if (atMs <= last[0]) return;
    if (before !== undefined && before[1] === last[1]) last[0] = atMs;
    else this.points.push([atMs, last[1]]);
  }

  /** Another step begins before this one has ended: it goes on from where this one is. */
  private cutStep(atMs: number): void {
    const { last } = this;
    const [startMs, gain] = this.points[this.points.length - 2] as GainPoint;
    const share = (atMs - startMs) / (last[0] - startMs);
    last[0] = atMs;
    last[1] = gain + share * (last[1] - gain);
  }

  /** The number of the first point after an instant; there may be one for each frame of a film. */
  private firstAfter(atMs: number): number {
    let low = 0;
    let high = this.points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.points[middle] as GainPoint)[0] <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private get last(): [atMs: number, gain: number] {
    return this.points[this.points.length - 1] as [number, number];
  }
}
