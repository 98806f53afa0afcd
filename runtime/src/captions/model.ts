/** Captions data as people write it, brought into one shape with milliseconds. Pure. */

import { parseSubtitles } from "./subtitles.ts";

export interface Cue {
  readonly startMs: number;
  readonly endMs: number;
  readonly text: string;
}

export interface Captions {
  readonly segments: readonly Cue[];
  readonly words: readonly Cue[];
}

export class UnreadableCaptions extends Error {}

interface RawCue {
  start: number;
  end: number;
  text: string;
}

// A silence this long ends a sentence when nobody says where sentences end.
const PAUSE_MS = 1000;

/** Read JSON, WebVTT or SubRip; `plausibleMs` is how long the film can be, if known. */
export function parseCaptions(text: string, plausibleMs: number | null): Captions {
  const trimmed = text.replace(/^\uFEFF/u, "").trim();
  if (/^[{[]/u.test(trimmed)) return normaliseCaptions(parseJson(trimmed), plausibleMs);
  const segments = parseSubtitles(trimmed);
  if (segments === null) {
    throw new UnreadableCaptions("is neither captions JSON nor WebVTT nor SubRip");
  }
  return { segments, words: [] };
}

/** Bring captions data into one shape: seconds, milliseconds, words inside segments or beside. */
export function normaliseCaptions(data: unknown, plausibleMs: number | null): Captions {
  const record = Array.isArray(data) ? { segments: data as unknown[] } : data;
  if (!isRecord(record)) throw new UnreadableCaptions("is no captions object");
  const lists = [record.segments, record.word_segments, record.wordSegments, record.words];
  if (!lists.some(Array.isArray)) {
    throw new UnreadableCaptions('has neither "segments" nor "word_segments"');
  }
  const rawSegments = readCues(record.segments);
  const beside = readCues(record.word_segments ?? record.wordSegments ?? record.words);
  const rawWords = beside.length > 0 ? beside : nestedWords(record.segments);
  const unitMs = isMilliseconds([...rawSegments, ...rawWords], plausibleMs) ? 1 : 1000;
  const words = inOrder(rawWords, unitMs).map((word) => ({ ...word, text: word.text.trim() }));
  const segments = inOrder(rawSegments, unitMs);
  return { segments: segments.length > 0 ? segments : sentencesOf(words), words };
}

export function lengthOf(captions: Captions): number {
  return Math.max(0, ...[...captions.segments, ...captions.words].map((cue) => cue.endMs));
}

/** All three habits occur in the wild, and nothing in the data says which one it is. */
function isMilliseconds(cues: readonly RawCue[], plausibleMs: number | null): boolean {
  const latest = Math.max(0, ...cues.map((cue) => cue.end));
  if (plausibleMs !== null && plausibleMs > 0 && latest > 10 * (plausibleMs / 1000)) return true;
  const areWhole = cues.every((cue) => Number.isInteger(cue.start) && Number.isInteger(cue.end));
  return areWhole && latest >= 1000;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableCaptions(`is not valid JSON: ${(error as Error).message}`);
  }
}

function nestedWords(segments: unknown): RawCue[] {
  if (!Array.isArray(segments)) return [];
  return segments.flatMap((segment) => (isRecord(segment) ? readCues(segment.words) : []));
}

function readCues(list: unknown): RawCue[] {
  return Array.isArray(list) ? list.flatMap(readCue) : [];
}

function readCue(item: unknown): RawCue[] {
  if (!isRecord(item)) return [];
  const start = Number(item.start ?? Number.NaN);
  const end = Number(item.end ?? Number.NaN);
  // Transcribers leave out the times of what they could not place.
  if (!Number.isFinite(start) || !Number.isFinite(end)) return [];
  return [{ start, end, text: String(item.text ?? item.word ?? "") }];
}

function inOrder(cues: readonly RawCue[], unitMs: number): Cue[] {
  return cues
    .map(({ start, end, text }) => ({
      startMs: toMs(start, unitMs),
      endMs: toMs(end, unitMs),
      text,
    }))
    .sort((a, b) => a.startMs - b.startMs);
}

function toMs(value: number, unitMs: number): number {
  return Math.round(value * unitMs * 1000) / 1000;
}

function sentencesOf(words: readonly Cue[]): Cue[] {
  const sentences: Cue[] = [];
  for (const word of words) {
    const last = sentences.at(-1);
    if (!last || /[.!?…]["')\]]*$/u.test(last.text) || word.startMs - last.endMs >= PAUSE_MS) {
      sentences.push(word);
    } else {
      const longer = { ...last, endMs: word.endMs, text: `${last.text} ${word.text}` };
      sentences[sentences.length - 1] = longer;
    }
  }
  return sentences;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
