/** Where a mover is at the present time, and how much of it is seen. */

import {
  about,
  IDENTITY,
  multiply,
  parseRotate,
  parseScale,
  parseTransform,
  parseTranslate,
} from "./affine.ts";
import { selectorOf } from "../selector.ts";
import type { Box } from "./boxes.ts";
import { parseClipPath } from "./clip_path.ts";
import { isShown } from "./flat_tree.ts";

const REPLACED = "img, video, canvas, input, button, select, textarea, progress, meter, object";
const NO_CLIP = [0, 0, 0, 0, -1];
const HIDDEN: readonly number[] = [0, 0, ...IDENTITY, ...NO_CLIP];

/**
 * Its numbers in `Samples`, or why they are not known. `inside` are the elements that move with it
 * and with nothing else in it.
 */
export function stateOf(
  mover: HTMLElement,
  rest: Box = [0, 0, 0, 0],
  inside: readonly Element[] = [],
): readonly number[] | string {
  if (!isShown(mover)) return HIDDEN;
  const style = getComputedStyle(mover);
  const isVisible = style.visibility === "visible";
  // What has no box of its own cannot fade, nor be cut or moved.
  if (style.display === "contents") return [Number(isVisible), 1, ...IDENTITY, ...NO_CLIP];
  if (!isVisible && inside.some(isSeen)) return "a part of what hides is still seen";
  const [left, top, right, bottom] = rest;
  const clip = parseClipPath(style.clipPath, rest);
  if (clip === undefined) return "a clip-path of another shape";
  const parts = [
    parseTranslate(style.translate, right - left, bottom - top),
    parseRotate(style.rotate),
    parseScale(style.scale),
    parseTransform(style.transform),
  ];
  const [x = 0, y = 0] = style.transformOrigin.split(" ").map(Number.parseFloat);
  // Chromium puts what it transforms on whole pixels first. A mere move has no origin.
  const origin = [Math.round(left) + x, Math.round(top) + y] as const;
  const [translate, rotate, scale, transform] = parts;
  if (!translate || !rotate || !scale || !transform) return "a transform in space";
  const own = isTransformable(mover, style)
    ? multiply(multiply(translate, rotate), multiply(scale, transform))
    : IDENTITY;
  const isPlain = own.every((number, i) => number === IDENTITY[i]) && clip === null;
  const other = isPlain ? "" : otherGeometry(mover, style);
  if (other !== "") return `${selectorOf(mover)}: it moves with ${other}`;
  const cut = clip === null ? NO_CLIP : [...clip.box, clip.radiusPx];
  // What is hidden still moves, fades and cuts what is in it and seen.
  return [Number(isVisible), Number(style.opacity), ...about(own, ...origin), ...cut];
}

/** Transforms have no effect on parts of a line. */
function isTransformable(element: HTMLElement, { display }: CSSStyleDeclaration): boolean {
  return display !== "inline" || element.matches(REPLACED);
}

/** What its matrix or clip would have to follow, too. */
function otherGeometry(element: HTMLElement, style: CSSStyleDeclaration): string {
  if (element.currentCSSZoom !== 1) return "zoom";
  if (style.offsetPath !== "none") return "offset-path";
  const isOfBorders = ["view-box", "border-box", "stroke-box"].includes(style.transformBox);
  return isOfBorders ? "" : `transform-box: ${style.transformBox}`;
}

function isSeen(element: Element): boolean {
  return isShown(element) && getComputedStyle(element).visibility === "visible";
}
