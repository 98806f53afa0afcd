/** What the layers of a page have to know about one element. */

import type { ElementFacts } from "./layer_finder.ts";
import { drawnAncestors } from "./flat_tree.ts";
import { FrameCanvas } from "../frame_canvas.ts";
import { markerFontPx } from "./ink_box.ts";
import { roundingOf } from "./rounding.ts";
import { stackingOf } from "./stacking.ts";

const REPLACED = "img, svg, input, button, select, textarea, progress, meter, hr";

export function describeElement(
  element: Element,
  style: CSSStyleDeclaration,
  isRaster = false,
): ElementFacts {
  const hasText = hasOwnText(element) || cutsLines(style);
  const hasBox = hasOwnBox(element, style);
  const transforms = [style.transform, style.translate, style.rotate, style.scale];
  return {
    ...stackingOf(element, style),
    paints: hasText || hasBox,
    isText: hasText && !hasBox,
    hasBox,
    hasEdges: (hasText || hasBox) && !isRaster,
    hasGlyphs: (hasText || isMarked(element, style)) && !isRaster,
    isBoxless: style.display === "contents",
    reachPx: reachOf(element, style),
    groups: groupingOf(style) || sharingOf(style),
    clips: style.overflowX !== "visible" || style.overflowY !== "visible",
    radiusPx: roundingOf(element),
    isPlaced:
      style.opacity !== "1" || [...transforms, style.clipPath].some((value) => value !== "none"),
  };
}

function hasOwnText(element: Element): boolean {
  return [...element.childNodes].some((node) => node instanceof Text && node.data.trim() !== "");
}

/** Whether it may end the lines of what is in it with an ellipsis of its own. */
function cutsLines(style: CSSStyleDeclaration): boolean {
  return style.textOverflow !== "clip" || style.webkitLineClamp !== "none";
}

/** Whether it draws anything but text and what is in it. */
function hasOwnBox(element: Element, style: CSSStyleDeclaration): boolean {
  const borders = ["top", "right", "bottom", "left"].map((side) =>
    style.getPropertyValue(`border-${side}-width`),
  );
  return (
    element.matches(REPLACED) ||
    FrameCanvas.of(element) !== undefined ||
    hasBackground(style) ||
    borders.some((width) => width !== "0px") ||
    style.boxShadow !== "none" ||
    style.outlineStyle !== "none" ||
    style.display === "list-item" ||
    drawsLines(style) ||
    (isTable(style) && style.borderCollapse === "collapse") ||
    hasBackground(getComputedStyle(element, "::first-line")) ||
    hasPseudoElements(element)
  );
}

function hasBackground({ backgroundColor, backgroundImage }: CSSStyleDeclaration): boolean {
  return backgroundColor !== "rgba(0, 0, 0, 0)" || backgroundImage !== "none";
}

/** Between columns or rows, and in the corner of what can be resized. */
function drawsLines(style: CSSStyleDeclaration): boolean {
  const rules = ["column-rule-style", "row-rule-style"].map((name) => style.getPropertyValue(name));
  return rules.some((rule) => rule !== "" && rule !== "none") || style.resize !== "none";
}

function hasPseudoElements(element: Element): boolean {
  return ["::before", "::after"].some((part) =>
    hasContent(getComputedStyle(element, part).content),
  );
}

function isTable({ display }: CSSStyleDeclaration): boolean {
  return display === "table" || display === "inline-table";
}

/** Whether columns of a table have a background, which Chromium draws in parts. */
export function hasColumns(element: Element, style: CSSStyleDeclaration): boolean {
  const columns = isTable(style) ? element.querySelectorAll("col, colgroup") : [];
  return [...columns].some((each) => hasBackground(getComputedStyle(each)));
}

/** Half of the font size is more than glyphs need; a blur reaches three times its length. */
export function reachOf(element: Element, style: CSSStyleDeclaration): number {
  const outline = style.outlineStyle === "none" ? 0 : Number.parseFloat(style.outlineWidth);
  const own = [style.boxShadow, style.textShadow, style.outlineOffset, style.textUnderlineOffset];
  const around = [...drawnAncestors(element)].map((each) => getComputedStyle(each));
  const filters = around.map(({ filter }) => longestPx(filter));
  const lines = around.map((each) => longestPx(linesOf(each)));
  const effects = longestPx(own.join(" ")) + Math.max(...lines) + sumOf(filters);
  return glyphReach(element, style) + 3 * effects + outline;
}

function glyphReach(element: Element, style: CSSStyleDeclaration): number {
  if (!isMarked(element, style) && !hasOwnText(element)) return 0;
  const letter = getComputedStyle(element, "::first-letter");
  const fonts = [style, letter].map(({ fontSize }) => Number.parseFloat(fontSize));
  const fontPx = Math.max(...fonts, markerFontPx(element, style));
  return fontPx / 2 + longestPx(letter.margin);
}

/** Lines of an element are drawn with the texts in it. */
function linesOf({ textDecorationLine, textDecorationThickness }: CSSStyleDeclaration): string {
  return textDecorationLine === "none" ? "" : textDecorationThickness;
}

function longestPx(values: string): number {
  const lengths = [...values.matchAll(/(-?[\d.]+)px/gu)].map((found) => Math.abs(Number(found[1])));
  return Math.max(0, ...lengths);
}

function sumOf(lengths: readonly number[]): number {
  return lengths.reduce((sum, each) => sum + each, 0);
}

/** Whether it may draw text that is not its own. */
function isMarked(element: Element, style: CSSStyleDeclaration): boolean {
  return element.matches(REPLACED) || style.display === "list-item" || hasPseudoElements(element);
}

function hasContent(content: string): boolean {
  return content !== "none" && content !== "normal";
}

/** What an element draws in a table together with its cells. */
export function sharingOf(style: CSSStyleDeclaration): string {
  if (isTable(style) && style.borderCollapse === "collapse") return "collapsed borders";
  const isOfRows = /^table-(?:row|.*-group)$/u.test(style.display);
  // Chromium draws it cell by cell, with the cells.
  return isOfRows && hasBackground(style) ? "a background of table rows" : "";
}

function groupingOf(style: CSSStyleDeclaration): string {
  if (style.filter !== "none") return "a filter";
  if (style.maskImage !== "none") return "a mask";
  if (/paint|strict|content/u.test(style.contain)) return "contain: paint";
  if (style.contentVisibility !== "visible") return "content-visibility";
  if (style.clip !== "auto") return "clip";
  return "";
}
