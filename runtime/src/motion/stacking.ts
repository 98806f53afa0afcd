/** What the style of an element says about the order of painting. */

import { drawnParent } from "./flat_tree.ts";

const MAKES_CONTEXT =
  /\b(?:transform|translate|rotate|scale|opacity|filter|perspective|clip-path|mask|isolation|z-index)\b/u;

export interface Stacking {
  readonly isContext: boolean;
  readonly isPositioned: boolean;
  readonly zIndex: number;
}

export function stackingOf(element: Element, style: CSSStyleDeclaration): Stacking {
  const isPositioned = style.position !== "static";
  const isLaidOut = isPositioned || isItem(element);
  const zIndex = isLaidOut && style.zIndex !== "auto" ? Number.parseInt(style.zIndex, 10) : null;
  return {
    isContext: zIndex !== null || isAlwaysContext(style),
    isPositioned,
    zIndex: zIndex ?? 0,
  };
}

function isAlwaysContext(style: CSSStyleDeclaration): boolean {
  return (
    style.position === "fixed" ||
    style.position === "sticky" ||
    style.opacity !== "1" ||
    [style.transform, style.translate, style.rotate, style.scale].some((v) => v !== "none") ||
    [style.filter, style.clipPath, style.maskImage].some((v) => v !== "none") ||
    style.isolation === "isolate" ||
    style.mixBlendMode !== "normal" ||
    /paint|layout|strict|content/u.test(style.contain) ||
    MAKES_CONTEXT.test(style.willChange)
  );
}

/** Items of these containers have a z-index without being positioned. */
function isItem(element: Element): boolean {
  let parent = drawnParent(element);
  while (parent !== null && getComputedStyle(parent).display === "contents") {
    parent = drawnParent(parent);
  }
  return parent !== null && /flex|grid/u.test(getComputedStyle(parent).display);
}

/** Whether the overflow of `clip` is cut off for `inner`, which is inside it. */
export function isClippedBy(inner: Element, clip: Element): boolean {
  let at: Element | null = inner;
  while (at !== null && at !== clip) {
    const holder: Element | null = holderOf(at);
    // What holds the box lies outside of the clip: the box is not cut off.
    if (holder === null || (holder !== clip && holder.contains(clip))) return false;
    at = holder;
  }
  return at === clip;
}

/** The element whose box an element is placed in; null for the window. */
function holderOf(element: Element): Element | null {
  const { position } = getComputedStyle(element);
  let at = drawnParent(element);
  if (position !== "absolute" && position !== "fixed") return at;
  while (at !== null) {
    const style = getComputedStyle(at);
    const isHolder = position === "absolute" && style.position !== "static";
    const isTransformed = [style.transform, style.translate, style.filter].some(
      (v) => v !== "none",
    );
    if (isHolder || isTransformed || /paint|layout|strict|content/u.test(style.contain)) return at;
    at = drawnParent(at);
  }
  return null;
}
