/** What captions show at one instant. Pure. */

import type { Captions, Cue } from "./model.ts";

export interface Moment {
  readonly segment: Cue | null;
  readonly segmentText: string;
  readonly word: Cue | null;
  /** Number of the active word among all words, -1 between words. */
  readonly wordIndex: number;
  readonly beforeText: string;
  readonly activeText: string;
  readonly afterText: string;
}

/** Between cues, and before and after all of them. */
export const NOTHING: Moment = {
  segment: null,
  segmentText: "",
  word: null,
  wordIndex: -1,
  beforeText: "",
  activeText: "",
  afterText: "",
};

export function captionsAt(captions: Captions, timeMs: number): Moment {
  const wordIndex = lastAt(captions.words, timeMs);
  const word = captions.words[wordIndex] ?? null;
  const segment = captions.segments[lastAt(captions.segments, timeMs)] ?? null;
  if (segment === null && word === null) return NOTHING;
  const [before, after] = neighbours(captions, { segment, wordIndex, timeMs });
  const space = joinerOf(segment, before.length + after.length);
  const beforeText = before.map((cue) => cue.text).join(space);
  const afterText = after.map((cue) => cue.text).join(space);
  return {
    segment,
    segmentText: segment?.text.trim() ?? "",
    word,
    wordIndex,
    // The space between two parts belongs to the ones around the active word, which alone may
    // be drawn as a box.
    beforeText: beforeText && word ? beforeText + space : beforeText,
    activeText: word?.text ?? "",
    afterText: afterText && word ? space + afterText : afterText,
  };
}

/** The instants at which something changes, in order. */
export function changesMs(captions: Captions): number[] {
  const all = [...captions.segments, ...captions.words].flatMap((cue) => [cue.startMs, cue.endMs]);
  return [...new Set(all)].sort((a, b) => a - b);
}

interface Place {
  readonly segment: Cue | null;
  readonly wordIndex: number;
  readonly timeMs: number;
}

/** The words of the segment on both sides of the active one. */
function neighbours(captions: Captions, place: Place): [Cue[], Cue[]] {
  const numbered = captions.words.map((cue, index) => ({ cue, index }));
  const around = numbered.filter(({ cue }) => place.segment !== null && isIn(cue, place.segment));
  const cues = around.map(({ cue }) => cue);
  if (place.wordIndex < 0) {
    // Between words: all of them are still to come, or all of them count as said.
    const first = cues[0];
    return first === undefined || place.timeMs < first.startMs ? [[], cues] : [cues, []];
  }
  return [
    around.filter(({ index }) => index < place.wordIndex).map(({ cue }) => cue),
    around.filter(({ index }) => index > place.wordIndex).map(({ cue }) => cue),
  ];
}

/** Where two overlap, the later one is shown. */
function lastAt(cues: readonly Cue[], timeMs: number): number {
  for (let i = cues.length - 1; i >= 0; i -= 1) {
    const cue = cues[i] as Cue;
    if (cue.startMs <= timeMs && timeMs < cue.endMs) return i;
  }
  return -1;
}

/** A word belongs to the segment in which it begins. */
function isIn(word: Cue, segment: Cue): boolean {
  return segment.startMs <= word.startMs && word.startMs < segment.endMs;
}

/** Scripts that write no spaces between words get none. */
function joinerOf(segment: Cue | null, wordsAround: number): string {
  const isUnspaced = segment !== null && wordsAround > 0 && !/\s/u.test(segment.text.trim());
  return isUnspaced ? "" : " ";
}
