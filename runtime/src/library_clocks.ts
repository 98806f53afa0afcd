/** Libraries that take the film's steps of time for delays of the machine. Called at frame 0. */

import { frameTimeMs, type FrameRate } from "./clock.ts";

/** GSAP shortens a longer step, but in a film of less than two frames a second each step is one. */
const SHORTENED_MS = 500;

interface Libraries {
  readonly gsap?: { readonly ticker?: { lagSmoothing?: unknown } };
  readonly p5?: { readonly instance?: Sketch | null };
}

interface Sketch {
  frameCount?: unknown;
  _lastTargetFrameTime?: unknown;
}

export function adaptLibraries(rate: FrameRate): void {
  const { gsap, p5 } = window as Libraries;
  // A global, even if the page imports it as a module.
  const ticker = gsap?.ticker;
  const isLong = frameTimeMs(1, rate) > SHORTENED_MS;
  if (isLong && typeof ticker?.lagSmoothing === "function") ticker.lagSmoothing(0);
  drawAtOnce(p5?.instance ?? {});
}

/** p5 draws first a while after its setup: the film would begin with an empty frame. */
function drawAtOnce(sketch: Sketch): void {
  if (sketch.frameCount === 0 && typeof sketch._lastTargetFrameTime === "number") {
    sketch._lastTargetFrameTime = -Infinity;
  }
}
