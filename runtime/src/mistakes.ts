/**
 * What looks like a mistake of the page's author, found by one look before frame 0.
 *
 * Says only what was found; `engine/page/warnings.py` writes the messages.
 */

import { CONTROLS, WRAPPERS } from "./elements/inert.ts";
import { isKnownAttribute, VOCABULARY, wordsMissed } from "./elements/vocabulary.ts";
import type { FailedScript, FailedScripts } from "./failed_scripts.ts";
import { missingFonts, type MissingFont } from "./missing_fonts.ts";
import { selectorOf } from "./selector.ts";

export interface UnknownName {
  readonly element: string;
  readonly name: string;
  /** The value, where that is what is not known; else null. */
  readonly value: string | null;
  /** Names that are known there; none for a number. */
  readonly known: readonly string[];
}

export interface Mistakes {
  readonly elements: readonly UnknownName[];
  readonly attributes: readonly UnknownName[];
  readonly fonts: readonly MissingFont[];
  readonly scripts: readonly FailedScript[];
  /** Frames whose documents play media: their sound is not mixed. */
  readonly soundingFrames: readonly string[];
  /** Whether scripts failed and nothing is drawn. */
  readonly isBlank: boolean;
}

const MAX_WARNINGS = 20;
const MAX_ELEMENTS = 1000;
const MAX_VALUE_CHARS = 80;
const OTHERS: readonly string[] = ["ef-configuration", ...WRAPPERS, ...CONTROLS];

export function findMistakes(scripts: FailedScripts, hasOurElements: boolean): Mistakes {
  const ours = hasOurElements ? ownElements() : [];
  return {
    elements: unknownElements(ours),
    attributes: unknownAttributes(ours),
    fonts: missingFonts(),
    scripts: scripts.all(),
    soundingFrames: soundingFrames(),
    isBlank: scripts.isBlank(),
  };
}

function soundingFrames(): string[] {
  const frames = [...document.querySelectorAll("iframe")].filter(hasMedia);
  return frames.slice(0, MAX_WARNINGS).map(selectorOf);
}

/** The document of a sandboxed frame cannot be read, so its text has to do. */
function hasMedia(frame: HTMLIFrameElement): boolean {
  const inner = frame.contentDocument;
  if (inner === null) return /<(?:video|audio)\b/i.test(frame.srcdoc);
  const media = inner.querySelectorAll<HTMLMediaElement>("video, audio");
  return [...media].some((each) => !each.muted);
}

/** Segments are left out: a text makes one for each of its units. */
function ownElements(): Element[] {
  const isMeant = ({ localName }: Element): boolean =>
    localName.startsWith("ef-") && localName !== "ef-text-segment";
  return [...document.querySelectorAll("*")].filter(isMeant).slice(0, MAX_ELEMENTS);
}

/** One of each name. */
function unknownElements(elements: readonly Element[]): UnknownName[] {
  const found = new Map<string, UnknownName>();
  const known = [...Object.keys(VOCABULARY), ...OTHERS];
  for (const element of elements) {
    const name = element.localName;
    if (found.size >= MAX_WARNINGS || found.has(name) || known.includes(name)) continue;
    found.set(name, { element: selectorOf(element), name, value: null, known });
  }
  return [...found.values()];
}

/** One of each name and value of each kind of element. */
function unknownAttributes(elements: readonly Element[]): UnknownName[] {
  const seen = new Set<string>();
  const found: UnknownName[] = [];
  for (const element of elements) {
    const vocabulary = VOCABULARY[element.localName];
    if (vocabulary === undefined) continue;
    for (const { name, value } of element.attributes) {
      const words = wordsMissed(vocabulary, name, value);
      const key = `${element.localName} ${name} ${words === null ? "" : value}`;
      if (found.length >= MAX_WARNINGS || seen.has(key)) continue;
      seen.add(key);
      if (words === null && isKnownAttribute(vocabulary, name)) continue;
      found.push({
        element: selectorOf(element),
        name: name.slice(0, MAX_VALUE_CHARS),
        value: words === null ? null : value.slice(0, MAX_VALUE_CHARS),
        known: words ?? vocabulary.attributes,
      });
    }
  }
  return found;
}
