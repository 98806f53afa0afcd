/** Which attributes each element knows. Knows no DOM; what an attribute does stands elsewhere. */

import { parseEasing } from "../text/easing.ts";
import { parseNumber } from "../timing/parse.ts";
import { MODES as WAVEFORM_MODES } from "../waveform/draw.ts";

export interface Vocabulary {
  /** With a hyphen between words; written without it they are the same. */
  readonly attributes: readonly string[];
  /** What an attribute may say, where that is a list of words. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** Beginnings of names that are all known. */
  readonly prefixes?: readonly string[];
}

/** The last two are written for players, and mean nothing in a film. */
const TIMED = [
  "duration",
  "offset",
  "mode",
  "source-in",
  "source-out",
  "trim-start",
  "trim-end",
  "start-offset",
  "loop",
];
const TIME_MODES = { mode: ["fixed", "sequence", "contain", "fit"] };
const SOURCE = ["src", "file-id", "asset-id", "crossorigin"];
/** Those of the second line are known from plain media, and mean nothing in a film. */
const MEDIA = [
  ...["volume", "mute", "muted", "fft-size", "fft-decay", "fft-gain", "interpolate-frequencies"],
  ...["autoplay", "controls", "playsinline", "preload"],
];
const NUMBERS = new Set([
  ...["volume", "fps", "fft-size", "fft-decay", "fft-gain", "bar-spacing", "line-width"],
  ...["shutter-angle", "sensitivity", "threshold", "angle", "amount", "x", "y", "scale"],
]);
const EASINGS = [
  ...["linear", "ease", "ease-in", "ease-out", "ease-in-out", "step-start", "step-end"],
  ...["cubic-bezier(...)", "steps(...)", "linear(...)"],
];
const TARGET = ["target", "for"];
const PART: Vocabulary = { attributes: TIMED, words: TIME_MODES };

export const VOCABULARY: Readonly<Record<string, Vocabulary>> = {
  "ef-timegroup": {
    attributes: [...TIMED, "overlap", "fps", "auto-init", "workbench", "fit"],
    words: TIME_MODES,
  },
  "ef-video": { attributes: [...TIMED, ...SOURCE, ...MEDIA, "current-time"], words: TIME_MODES },
  "ef-audio": { attributes: [...TIMED, ...SOURCE, ...MEDIA, "current-time"], words: TIME_MODES },
  "ef-image": {
    attributes: [...TIMED, ...SOURCE, "alt", "loading", "decoding"],
    words: TIME_MODES,
  },
  "ef-text": {
    attributes: [...TIMED, "split", "stagger", "easing", "motion-blur"],
    words: { ...TIME_MODES, split: ["word", "char", "line"] },
    prefixes: ["blur-"],
  },
  "ef-text-segment": PART,
  "ef-captions": {
    attributes: [
      ...TIMED,
      ...TARGET,
      ...["captions-script", "captions-src", "file-id", "word-style"],
    ],
    words: TIME_MODES,
  },
  "ef-captions-active-word": PART,
  "ef-captions-before-active-word": PART,
  "ef-captions-after-active-word": PART,
  "ef-captions-segment": PART,
  "ef-waveform": {
    attributes: [...TIMED, ...TARGET, "color", "bar-spacing", "line-width"],
    words: { mode: WAVEFORM_MODES },
  },
  "ef-surface": { attributes: TARGET },
  "ef-motionblur": {
    attributes: ["shutter-angle", "fps", "sensitivity", "threshold", "angle", "amount"],
  },
  "ef-pan-zoom": { attributes: ["x", "y", "scale", "auto-fit"] },
};

/** Attributes that every HTML element has. */
const GLOBAL = new Set([
  ...["accesskey", "anchor", "autocapitalize", "autocorrect", "autofocus", "class", "classname"],
  ...["contenteditable", "dir", "draggable", "enterkeyhint", "exportparts", "hidden", "id"],
  ...["inert", "inputmode", "is", "itemid", "itemprop", "itemref", "itemscope", "itemtype"],
  ...["key", "lang", "nonce", "part", "popover", "ref", "role", "slot", "spellcheck", "style"],
  ...["tabindex", "title", "translate", "virtualkeyboardpolicy", "writingsuggestions", "xmlns"],
]);
/** Data, event handlers, and what frameworks leave in pages. */
const FREE = /^(?:data|aria|v|x|hx|ng|svelte|astro|wire|bind|let|transition)-|^on[a-z]/u;
/** Framework syntax (`@click`, `:class`, `_ngcontent-x`, `wire:id`) is none of ours. */
const PLAIN_NAME = /^[a-z][a-z0-9_-]*$/u;

/** Whether an element of that vocabulary may have the attribute. */
export function isKnownAttribute(vocabulary: Vocabulary, name: string): boolean {
  if (!PLAIN_NAME.test(name) || FREE.test(name) || GLOBAL.has(name)) return true;
  if (vocabulary.prefixes?.some((prefix) => name.startsWith(prefix))) return true;
  const joined = name.replaceAll("-", "");
  return vocabulary.attributes.some((known) => known.replaceAll("-", "") === joined);
}

/** The words an attribute may say, if what it says is none of them; none if it is no number. */
export function wordsMissed(
  vocabulary: Vocabulary,
  name: string,
  value: string,
): readonly string[] | null {
  if (isNumber(vocabulary, name)) return value === "" || parseNumber(value) !== null ? null : [];
  if (name === "easing" && value !== "") return parseEasing(value) === null ? EASINGS : null;
  const words = vocabulary.words?.[name];
  return words === undefined || value === "" || words.includes(value) ? null : words;
}

function isNumber(vocabulary: Vocabulary, name: string): boolean {
  const joined = name.replaceAll("-", "");
  const known = vocabulary.attributes.find((each) => each.replaceAll("-", "") === joined);
  return known !== undefined && NUMBERS.has(known);
}
