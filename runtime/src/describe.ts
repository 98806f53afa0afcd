/** What a plain page says about itself: size, rate and length, where it says anything. */

import { animationsOfPage } from "./shadow_roots.ts";

export interface PageFacts {
  widthPx: number | null;
  heightPx: number | null;
  fps: number | null;
  durationMs: number | null;
}

export function describePage(): PageFacts {
  return {
    widthPx: numberFrom("width"),
    heightPx: numberFrom("height"),
    fps: numberFrom("fps"),
    durationMs: numberFrom("durationMs") ?? longestAnimationMs(),
  };
}

/** A positive number in `data-…` of <html>, <body>, or the body's first element. */
function numberFrom(name: string): number | null {
  const holders = [document.documentElement, document.body, document.body?.firstElementChild];
  for (const holder of holders) {
    const text = holder instanceof HTMLElement ? holder.dataset[name] : undefined;
    const value = text === undefined ? Number.NaN : Number.parseFloat(text);
    if (Number.isFinite(value) && value > 0) return value;
  }
  return null;
}

function longestAnimationMs(): number | null {
  const ends = animationsOfPage()
    .map((animation) => Number(animation.effect?.getComputedTiming().endTime ?? 0))
    .filter((endMs) => Number.isFinite(endMs) && endMs > 0);
  return ends.length > 0 ? Math.max(...ends) : null;
}
