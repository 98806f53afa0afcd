/** Clip paths that are boxes: `inset()`, and `circle()` as a box that is all corners. No DOM. */

import type { Box } from "./boxes.ts";

export interface ClipBox {
  readonly box: Box;
  readonly radiusPx: number;
}

/** Of an element with that border box. Null without a clip, undefined for any other shape. */
export function parseClipPath(value: string, box: Box): ClipBox | null | undefined {
  if (value === "none") return null;
  const inset = /^inset\(([^()]*)\)$/u.exec(value);
  if (inset !== null) return insetBox(inset[1] ?? "", box);
  const circle = /^circle\((\S+) at (\S+) (\S+)\)$/u.exec(value);
  return circle === null ? undefined : circleBox(circle.slice(1), box);
}

function insetBox(inner: string, [left, top, right, bottom]: Box): ClipBox | undefined {
  const [edges = "", round = "0px"] = inner.split(" round ");
  const [first = "", second = first, third = first, fourth = second] = edges.split(" ");
  const [width, height] = [right - left, bottom - top];
  const insets = [
    ...[lengthOf(fourth, width), lengthOf(first, height)],
    ...[lengthOf(second, width), lengthOf(third, height)],
  ];
  const radiusPx = lengthOf(round, Number.NaN);
  if ([...insets, radiusPx].some(Number.isNaN)) return undefined;
  const [before = 0, above = 0, after = 0, below = 0] = insets;
  const clip = [left + before, top + above, right - after, bottom - below] as const;
  return { box: clip, radiusPx };
}

function circleBox(parts: string[], [left, top, right, bottom]: Box): ClipBox | undefined {
  const [width, height] = [right - left, bottom - top];
  const [size = "", across = "", down = ""] = parts;
  const radiusPx = lengthOf(size, Math.hypot(width, height) / Math.SQRT2);
  const [x, y] = [left + lengthOf(across, width), top + lengthOf(down, height)];
  if ([radiusPx, x, y].some(Number.isNaN)) return undefined;
  return { box: [x - radiusPx, y - radiusPx, x + radiusPx, y + radiusPx], radiusPx };
}

/** NaN for what cannot be read. */
function lengthOf(text: string, wholePx: number): number {
  const found = /^(-?[\d.e-]+)(px|%)$/u.exec(text);
  if (found === null) return Number.NaN;
  return found[2] === "%" ? (Number(found[1]) / 100) * wholePx : Number(found[1]);
}
