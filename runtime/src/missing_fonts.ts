/** Fonts that a text of the page asks for first, and that are not there. */

import { selectorOf } from "./selector.ts";

export interface MissingFont {
  readonly element: string;
  readonly family: string;
  /** Whether the page tries to load it. */
  readonly isWebFont: boolean;
  /** The next of its list that is there; "" when none is. */
  readonly instead: string;
}

const MAX_WARNINGS = 5;
const MAX_TEXTS = 500;
const NO_TEXT = ["script", "style", "noscript", "template", "title"];
/** Names for whatever the machine has; a list that begins with one is meant to differ. */
const ANY = new Set([
  ...["serif", "sans-serif", "monospace", "cursive", "fantasy", "system-ui", "math", "emoji"],
  ...["fangsong", "inherit", "initial", "-apple-system", "blinkmacsystemfont", "segoe ui"],
  ...["apple color emoji", "segoe ui emoji", "segoe ui symbol", "noto color emoji"],
]);
const NAME = /\s*(?:"([^"]*)"|'([^']*)'|([^,]+))\s*(?:,|$)/gu;
/** Two fonts would hardly draw this in the same width. */
const LETTERS = "mmwwiillMWIL0189&%@";

/** The first text of each such font, of the first texts of the page. */
export function missingFonts(): MissingFont[] {
  if (document.body === null) return [];
  const seen = new Set<string>();
  const missing: MissingFont[] = [];
  for (const element of elementsWithText(document.body)) {
    const [family = "", ...others] = namesIn(getComputedStyle(element).fontFamily);
    const key = family.toLowerCase();
    if (seen.has(key) || missing.length >= MAX_WARNINGS) continue;
    seen.add(key);
    if (isThere(family)) continue;
    const instead = others.find(isThere) ?? "";
    const isWebFont = facesOf(family).length > 0;
    missing.push({ element: selectorOf(element), family, isWebFont, instead });
  }
  return missing;
}

/** Elements that hold text themselves. */
function elementsWithText(root: Element): Set<Element> {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const elements = new Set<Element>();
  for (let count = 0; count < MAX_TEXTS && walker.nextNode() !== null; count += 1) {
    const { parentElement, nodeValue } = walker.currentNode;
    if (parentElement === null || NO_TEXT.includes(parentElement.localName)) continue;
    if ((nodeValue ?? "").trim() !== "") elements.add(parentElement);
  }
  return elements;
}

function isThere(family: string): boolean {
  const name = family.toLowerCase();
  if (name === "" || ANY.has(name) || name.startsWith("ui-")) return true;
  const faces = facesOf(family);
  return faces.length > 0 ? faces.some((face) => face.status !== "error") : isInstalled(family);
}

function facesOf(family: string): FontFace[] {
  const name = family.toLowerCase();
  return [...document.fonts].filter((face) => namesIn(face.family)[0]?.toLowerCase() === name);
}

/** A font that is there measures otherwise than at least one of two that differ. */
function isInstalled(family: string): boolean {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  if (context === null) return true;
  const measured = (families: string): string => {
    context.font = `72px ${families}`;
    const { width, fontBoundingBoxAscent, fontBoundingBoxDescent } = context.measureText(LETTERS);
    return [width, fontBoundingBoxAscent, fontBoundingBoxDescent].join();
  };
  const quoted = JSON.stringify(family);
  return ["monospace", "serif"].some(
    (other) => measured(`${quoted}, ${other}`) !== measured(other),
  );
}

function namesIn(families: string): string[] {
  const names = [...families.matchAll(NAME)];
  return names.map((match) => (match[1] ?? match[2] ?? match[3] ?? "").trim());
}
