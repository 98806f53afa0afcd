/** Where an element may draw beyond its box: texts that overflow, markers of lists, drawings. */

import { boxOf, unionOf, type Box } from "./boxes.ts";

/** Wide enough for all markers of these kinds, in sizes of their font. */
const MARKER_EMS: readonly [RegExp, number][] = [
  [/^(?:disc|circle|square|disclosure-open|disclosure-closed)$/u, 2],
  [/^(?:decimal|decimal-leading-zero|(?:lower|upper)-(?:alpha|latin)|lower-greek)$/u, 10],
  [/^(?:lower|upper)-roman$/u, 18],
];

/** At the present time; the page's background is that of the window. */
export function inkBox(element: Element): Box {
  const box = boxOf(element);
  if (element === document.documentElement || element === document.body) {
    return unionOf(box, [0, 0, innerWidth, innerHeight]);
  }
  return [textBox(element), markerBox(element, box), ...drawnBoxes(element)]
    .filter((each) => each !== null)
    .reduce(unionOf, box);
}

/** Why it is not known how far the marker of a list item reaches, or "". */
export function markerObstacle(element: Element, style: CSSStyleDeclaration): string {
  if (!hasOutsideMarker(style)) return "";
  if (style.listStyleImage !== "none") return "list-style-image";
  return markerPx(element, style) === null ? `list-style-type: ${style.listStyleType}` : "";
}

/** The font size of a marker, or 0. */
export function markerFontPx(element: Element, style: CSSStyleDeclaration): number {
  if (!style.display.includes("list-item")) return 0;
  return Number.parseFloat(getComputedStyle(element, "::marker").fontSize);
}

function textBox(element: Element): Box | null {
  const hasText = [...element.childNodes].some((node) => node instanceof Text && node.data.trim());
  if (!hasText) return null;
  const range = document.createRange();
  range.selectNodeContents(element);
  const { left, top, right, bottom } = range.getBoundingClientRect();
  return [left, top, right, bottom];
}

/** Outside of the box of its item, where lines begin. */
function markerBox(element: Element, [left, top, right, bottom]: Box): Box | null {
  const style = getComputedStyle(element);
  const px = hasOutsideMarker(style) ? (markerPx(element, style) ?? 0) : 0;
  if (px === 0) return null;
  if (style.writingMode !== "horizontal-tb") return [left, top - px, right, bottom + px];
  return style.direction === "rtl"
    ? [left, top, right + px, bottom]
    : [left - px, top, right, bottom];
}

function hasOutsideMarker(style: CSSStyleDeclaration): boolean {
  return style.display.includes("list-item") && style.listStylePosition === "outside";
}

/** At most; null if nobody knows. */
function markerPx(element: Element, { listStyleType }: CSSStyleDeclaration): number | null {
  const { content, fontSize } = getComputedStyle(element, "::marker");
  const text = content === "normal" || content === "none" ? listStyleType : content;
  if (text === "none") return 0;
  const isText = /^"[^"]*"$/u.test(text);
  const known = MARKER_EMS.find(([kind]) => kind.test(text))?.[1];
  const ems = isText ? text.length : known;
  return ems === undefined ? null : ems * Number.parseFloat(fontSize);
}

/** Of the parts of a drawing that is not cut off at its edges. */
function drawnBoxes(element: Element): Box[] {
  if (!(element instanceof SVGSVGElement)) return [];
  const { overflowX, overflowY } = getComputedStyle(element);
  if (overflowX !== "visible" && overflowY !== "visible") return [];
  return [...element.querySelectorAll("*")].map(boxOf).filter(([l, t, r, b]) => r > l || b > t);
}
