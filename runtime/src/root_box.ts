/** The outermost group in the picture: how large it is without a size, and where it lies. */

import { timeTree } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";
import { selectorOf } from "./selector.ts";

/** Sizes of what may lie around a root that has none: they are the window's, or nobody's. */
const OPEN_SIZES = ["auto", "100%", "100vw", "100vh", "100dvw", "100dvh", "100svh", "100lvh"];

/** A root without a size is as large as the window. Returns what its author should know, or "". */
export function sizeRoot(): string {
  const root = rootGroup();
  if (root === null) return "";
  root.fillWindow(null);
  if (isSizeless(root)) {
    root.fillWindow("sizeless");
    return "";
  }
  const isFlat = root.getBoundingClientRect().height === 0 && isOpen(root, "height");
  if (!isFlat || getComputedStyle(root).display === "none") return "";
  root.fillWindow("flat");
  return (
    `${selectorOf(root)} has no height, and nothing in it gives it one:` +
    ` it is as high as the window, ${innerHeight} px; write a height, such as class="h-[720px]"`
  );
}

function rootGroup(): TimegroupElement | null {
  for (const { element } of timeTree.all()) if (element instanceof TimegroupElement) return element;
  return null;
}

/** Whether neither the root nor anything around it has a size of its own. */
function isSizeless(root: HTMLElement): boolean {
  if (!isOpen(root, "width") || !isOpen(root, "height") || !isInFlow(root)) return false;
  for (let at = root.parentElement; at !== null; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.display === "contents") continue;
    const areOpen = ["width", "height"].every((side) => OPEN_SIZES.includes(computed(at, side)));
    if (style.display !== "block" || !areOpen || !isInFlow(at)) return false;
    if (at === document.body) return true;
  }
  return true;
}

/** Whether a side is left to content and surroundings. */
function isOpen(element: Element, side: "width" | "height"): boolean {
  const least = computed(element, `min-${side}`);
  const hasLeast = least !== "auto" && least !== "0px";
  return (
    computed(element, side) === "auto" &&
    computed(element, "aspect-ratio") === "auto" &&
    !hasLeast &&
    isInFlow(element)
  );
}

function isInFlow(element: Element): boolean {
  const { position, float, display } = getComputedStyle(element);
  const isPlaced = position !== "static" && position !== "relative";
  return !isPlaced && float === "none" && !display.startsWith("inline") && display !== "none";
}

/** What the styles say, where `getComputedStyle` says what came of it. */
function computed(element: Element, property: string): string {
  return String(element.computedStyleMap().get(property));
}

/** The film shows the root, wherever it lies in the page. */
export function placeRoot(): void {
  const root = rootGroup();
  if (root === null) return;
  fillLastPixel(root);
  const { left, top } = root.getBoundingClientRect();
  if (left !== 0 || top !== 0) window.scrollBy({ left, top, behavior: "instant" });
}

/**
 * The same without scrolling, for a page that is moved while it is drawn: the place to which it is
 * scrolled changes with that.
 */
export function placeRootUnscrolled(): void {
  placeRoot();
  const { scrollX: left, scrollY: top } = window;
  if (left === 0 && top === 0) return;
  window.scrollTo({ left: 0, top: 0, behavior: "instant" });
  const page = document.documentElement;
  const style = getComputedStyle(page);
  // Both sides, so that nothing becomes wider or narrower.
  for (const [side, shift] of [
    ["left", -left],
    ["right", left],
    ["top", -top],
    ["bottom", top],
  ] as const) {
    const margin = Number.parseFloat(style.getPropertyValue(`margin-${side}`));
    page.style.setProperty(`margin-${side}`, `${margin + shift}px`, "important");
  }
}

/** Films have even sides. A root of odd ones grows to them, or a line of the page would be seen. */
function fillLastPixel(root: HTMLElement): void {
  const box = root.getBoundingClientRect();
  const style = getComputedStyle(root);
  const shortX = innerWidth - box.width;
  const shortY = innerHeight - box.height;
  if (isPartOfLastPixel(shortX)) {
    root.style.minWidth = `${Number.parseFloat(style.width) + shortX}px`;
  }
  if (isPartOfLastPixel(shortY)) {
    root.style.minHeight = `${Number.parseFloat(style.height) + shortY}px`;
  }
}

/** A fraction of a pixel was rounded up to a whole one, and that perhaps to an even number. */
function isPartOfLastPixel(missingPx: number): boolean {
  return missingPx > 0 && missingPx < 2;
}
