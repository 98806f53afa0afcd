/** Which corrections belong to which segment of a transcript. Pure. */

/** Times in seconds, as transcripts have them. */
export interface Segment {
  start: number;
  end: number;
  text: string;
}

export interface Span {
  start_ms: number;
  end_ms: number;
}

/** The corrections that a segment contains, or a part of. */
export function correctionsIn<T extends Span>(
  { start, end }: Segment,
  corrections: readonly T[],
): T[] {
  const [startMs, endMs] = [Math.round(1000 * start), Math.round(1000 * end)];
  return corrections.filter((each) => each.start_ms < endMs && each.end_ms > startMs);
}

/** What a new text of a segment replaces: all of it, and no part of a correction only. */
export function spanOf(segment: Segment, corrections: readonly Span[]): Span {
  const within = correctionsIn(segment, corrections);
  return {
    start_ms: Math.min(Math.round(1000 * segment.start), ...within.map((each) => each.start_ms)),
    end_ms: Math.max(Math.round(1000 * segment.end), ...within.map((each) => each.end_ms)),
  };
}
