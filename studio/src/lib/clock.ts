/** The present time for texts such as "2 minutes ago", which have to follow it. */

import { signal } from "@preact/signals";

const STEP_MS = 10_000;

const step = signal(0);

function advance(): void {
  if (!document.hidden) step.value += 1;
}

function follow(): void {
  setTimeout(() => {
    advance();
    follow();
  }, STEP_MS);
}

follow();
document.addEventListener("visibilitychange", advance);

/** Whatever is drawn with it is drawn again as time passes. */
export function presentMs(): number {
  void step.value;
  return Date.now();
}
