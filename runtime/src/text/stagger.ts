/** When each unit of a text begins, and the numbers its styles may use. Pure. */

import type { Easing } from "./easing.ts";

/** How much later unit `index` of `count` begins; the easing bends the row, not its length. */
export function staggerOffsetMs(
  index: number,
  count: number,
  { staggerMs, easing }: { staggerMs: number; easing: Easing },
): number {
  if (count < 2) return 0;
  const gaps = count - 1;
  // A tenth of a microsecond: bent offsets must read the same in every engine.
  return Math.round(easing(index / gaps) * gaps * staggerMs * 1e4) / 1e4;
}

/** A number in 0..1 that looks random and is always the same for the same index. */
export function seedOf(index: number): number {
  return ((index * 9007) % 233) / 233;
}
