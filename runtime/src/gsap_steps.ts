/**
 * GSAP takes a step of over half a second for a delay of the machine, and shortens it. In a film of
 * less than two frames a second every step is that long, and means it.
 */

import { frameTimeMs, type FrameRate } from "./clock.ts";

const SHORTENED_MS = 500;

/** Called at frame 0. GSAP is a global, even if the page imports it as a module. */
export function allowLongSteps(rate: FrameRate): void {
  if (frameTimeMs(1, rate) <= SHORTENED_MS) return;
  const { gsap } = window as { gsap?: { ticker?: { lagSmoothing?: unknown } } };
  const ticker = gsap?.ticker;
  if (typeof ticker?.lagSmoothing === "function") ticker.lagSmoothing(0);
}
