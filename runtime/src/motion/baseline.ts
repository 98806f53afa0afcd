/** The first baseline of an element's own text. */

import type { Box } from "./boxes.ts";

let context: OffscreenCanvasRenderingContext2D | null = null;

/** In the coordinates of the window; null if it has no text of its own. */
export function baselineOf(element: Element): number | null {
  const isText = (node: Node): boolean => node instanceof Text && node.data.trim() !== "";
  const text = [...element.childNodes].find(isText);
  context ??= new OffscreenCanvas(1, 1).getContext("2d");
  if (text === undefined || context === null) return null;
  const range = document.createRange();
  range.selectNodeContents(text);
  const line = range.getClientRects()[0];
  if (line === undefined) return null;
  context.font = getComputedStyle(element).font;
  // Layout rounds the ascent of a font to whole pixels.
  return line.top + Math.round(context.measureText("x").fontBoundingBoxAscent);
}

/** Where it is once its mover, with that box, has a transform: a corner on whole pixels. */
export function movedBaseline(baseline: number | null, mover: Box | undefined): number | null {
  const top = mover?.[1] ?? 0;
  return baseline === null ? null : baseline - top + Math.round(top);
}
