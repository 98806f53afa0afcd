/** Pictures made of pixels: scaled or turned, they look the same whoever does it. */

import { FrameCanvas } from "../frame_canvas.ts";

const RASTER = /^data:image\/(?:png|apng|jpeg|webp|gif|avif)\b/u;

/**
 * Whether an element draws pixels of a picture or video and nothing else: no edges, no glyphs.
 * `rasters` are addresses of such pictures.
 */
export function isRasterPicture(
  element: Element,
  style: CSSStyleDeclaration,
  rasters: ReadonlySet<string>,
): boolean {
  if (FrameCanvas.of(element) !== undefined) return true;
  if (!(element instanceof HTMLImageElement) || element.naturalWidth === 0) return false;
  const [address = ""] = element.currentSrc.split("#", 1);
  const borders = ["top", "right", "bottom", "left"].map((side) =>
    style.getPropertyValue(`border-${side}-width`),
  );
  return (
    (rasters.has(address) || RASTER.test(address)) &&
    style.imageRendering === "auto" &&
    style.backgroundColor === "rgba(0, 0, 0, 0)" &&
    style.backgroundImage === "none" &&
    style.boxShadow === "none" &&
    style.outlineStyle === "none" &&
    style.borderRadius === "0px" &&
    borders.every((width) => width === "0px")
  );
}
