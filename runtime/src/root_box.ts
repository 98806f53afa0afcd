/** Where the outermost group lies in the picture: its corner in the corner, up to both edges. */

import { timeTree } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";

/** The film shows the root, wherever it lies in the page. */
export function placeRoot(): void {
  const root = timeTree.all().find(({ element }) => element instanceof TimegroupElement);
  if (root === undefined) return;
  fillLastPixel(root.element);
  const { left, top } = root.element.getBoundingClientRect();
  if (left !== 0 || top !== 0) window.scrollBy({ left, top, behavior: "instant" });
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
