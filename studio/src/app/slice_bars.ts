/** Where the bars of slices are, on a scale from the first take to the last finish. Pure. */

export interface TimedSlice {
  taken_at: string | null;
  finished_at: string | null;
}

export interface SliceBarPlace {
  /** From 0 to 1. */
  left: number;
  width: number;
  seconds: number;
}

/** A slice that nobody has taken has no bar; one that is being made reaches to `now`. */
export function barsOf(slices: readonly TimedSlice[], now: number): (SliceBarPlace | null)[] {
  const spans = slices.map(({ taken_at, finished_at }) =>
    taken_at === null
      ? null
      : [Date.parse(taken_at), finished_at === null ? now : Date.parse(finished_at)],
  );
  const known = spans.filter((span) => span !== null) as number[][];
  const first = Math.min(...known.map(([start]) => start as number));
  const last = Math.max(...known.map(([, end]) => end as number));
  const whole = Math.max(1, last - first);
  return spans.map((span) => {
    if (span === null) return null;
    const [start, end] = span as [number, number];
    return {
      left: (start - first) / whole,
      width: Math.max(0, end - start) / whole,
      seconds: Math.max(0, end - start) / 1000,
    };
  });
}
