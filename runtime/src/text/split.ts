/** Cuts a text into the units that ef-text animates. Pure; knows no DOM. */

export type Split = "word" | "char" | "line";

export interface Piece {
  readonly text: string;
  /** Whitespace keeps its place in the line but is no unit: it counts for nothing. */
  readonly isSpace: boolean;
  /** Which unit this is; whitespace has the number of the unit before it. */
  readonly index: number;
  /** Which word the unit belongs to (for lines: which line). */
  readonly wordIndex: number;
}

const LOCALE = "en";
const SPACE = /^\s+$/u;
/** Here words are what is between spaces: letters and digits, with nothing but marks after them. */
const PLAIN = /^(?:[A-Za-z0-9]+[.,:;!?]*(?:[ \t\n]+|$))*$/;
/** Each such character is a grapheme. */
const PRINTABLE = /^[ -~]*$/;

/** The pieces in reading order; their texts joined are the text without its outer whitespace. */
export function splitText(text: string, split: Split): Piece[] {
  if (split === "line") return splitLines(text);
  const words = splitWords(text.trim());
  return split === "word" ? words : words.flatMap(graphemesOf).map(renumber());
}

export function countUnits(pieces: readonly Piece[]): number {
  return pieces.filter((piece) => !piece.isSpace).length;
}

export function parseSplit(value: string | null): Split {
  return value === "char" || value === "line" ? value : "word";
}

function splitLines(text: string): Piece[] {
  const lines = text.split(/\r\n|[\r\n\u2028]/u).map((line) => line.trim());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line) => piece(line || "\n", line === "")).map(renumber());
}

function splitWords(text: string): Piece[] {
  return wordsOf(text)
    .map((word) => piece(word, SPACE.test(word)))
    .map(renumber());
}

function wordsOf(text: string): string[] {
  // Chromium reads its rules for segments at the first use, which takes it 20 ms for each page.
  if (PLAIN.test(text)) return text.match(/\s+|\S+/g) ?? [];
  const texts: string[] = [];
  let hasWord = false;
  for (const part of segmentsOf(text, "word")) {
    const previous = texts.at(-1);
    if (previous === undefined || SPACE.test(part.segment) !== SPACE.test(previous)) {
      texts.push(part.segment);
      hasWord = part.isWordLike === true;
    } else if (part.isWordLike === true && hasWord) {
      texts.push(part.segment);
    } else {
      // Punctuation stays with the word before it; at the head of a word it waits for that.
      texts[texts.length - 1] = previous + part.segment;
      hasWord ||= part.isWordLike === true;
    }
  }
  return texts;
}

function graphemesOf(word: Piece): Piece[] {
  if (word.isSpace) return [word];
  return charactersOf(word.text).map((text) => ({ ...word, text }));
}

function charactersOf(word: string): string[] {
  if (PRINTABLE.test(word)) return [...word];
  return [...segmentsOf(word, "grapheme")].map(({ segment }) => segment);
}

function segmentsOf(text: string, granularity: "word" | "grapheme"): Intl.Segments {
  return new Intl.Segmenter(LOCALE, { granularity }).segment(text);
}

function piece(text: string, isSpace: boolean): Piece {
  return { text, isSpace, index: 0, wordIndex: -1 };
}

/** Counts units; words are counted too where nobody has done it yet. */
function renumber(): (piece: Piece) => Piece {
  let units = 0;
  return (piece) => {
    if (!piece.isSpace) units += 1;
    const index = Math.max(0, units - 1);
    return { ...piece, index, wordIndex: piece.wordIndex < 0 ? index : piece.wordIndex };
  };
}
