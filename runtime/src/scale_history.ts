/**
 * Frames that have to be drawn before another one, or it differs from the film's in a few pixels.
 *
 * Chromium draws the layer of an animated element in the largest scale of its keyframes. An easing
 * that goes beyond them has it choose another scale, which then depends on the frames before. With
 * the end of the animation that is forgotten.
 */

import { frameTimeMs, type FrameRate } from "./clock.ts";

const SCALING = /scale|matrix|perspective|translateZ|translate3d/u;
/** Of an animation without end, the last repetitions count. */
const REPETITIONS = 2;
/** Of long animations, the last frames count: each slice of a film draws them once more. */
const MAX_FRAMES = 300;

/** When an animation began and ended, in the time of the film. */
export interface Span {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The frames in one of these times and before `frame`, in order; the last ones, if many. */
export function framesWithin(spans: readonly Span[], frame: number, rate: FrameRate): number[] {
  const found = new Set<number>();
  for (const { firstMs, lastMs } of spans) {
    const begun = Math.floor(firstMs / frameTimeMs(1, rate));
    const first = Math.max(0, begun, frame - MAX_FRAMES);
    for (let each = first; each < frame && frameTimeMs(each, rate) <= lastMs; each += 1) {
      found.add(each);
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** The time of an animation up to the instant `atMs`, if it still counts then; else null. */
export function historyOf(
  { effect }: Animation,
  clockOf: (target: Element) => number,
  atMs: number,
): Span | null {
  if (!(effect instanceof KeyframeEffect) || effect.target === null) return null;
  if (!overshootsScale(effect.getKeyframes(), effect.getTiming().easing)) return null;
  const clockMs = clockOf(effect.target);
  const { delay, duration, endTime, fill } = effect.getComputedTiming();
  const [beganMs, endMs] = [Number(delay), Number(endTime)];
  const isForgotten = clockMs >= endMs && (fill === "forwards" || fill === "both");
  if (clockMs < beganMs || isForgotten) return null;
  const zeroMs = atMs - clockMs;
  const lastMs = zeroMs + Math.min(clockMs, endMs);
  const lengthMs = endMs === Infinity ? REPETITIONS * Number(duration) : endMs - beganMs;
  return { firstMs: Math.max(zeroMs + beganMs, lastMs - lengthMs), lastMs };
}

/** Whether keyframes scale, and one of the easings goes beyond them. */
export function overshootsScale(
  keyframes: readonly ComputedKeyframe[],
  easing: string | undefined,
): boolean {
  const scales = keyframes.some(
    ({ transform, scale }) =>
      SCALING.test(String(transform ?? "")) || !["none", "undefined"].includes(String(scale)),
  );
  return scales && [easing ?? "", ...keyframes.map((each) => each.easing)].some(overshoots);
}

/** Whether an easing leaves the range between its start and its end. */
export function overshoots(easing: string): boolean {
  const [, name, inside = ""] = /^([\w-]+)\((.*)\)$/u.exec(easing.trim()) ?? [];
  const parts = inside.split(",").map((part) => Number.parseFloat(part));
  const values = name === "cubic-bezier" ? [parts[1], parts[3]] : name === "linear" ? parts : [];
  return values.some((value) => value !== undefined && (value < 0 || value > 1));
}
