/** Videos of a page that are decoded and placed without the browser: where the picture lies. */

import { FrameCanvas, type DueFrame } from "../frame_canvas.ts";
import { keyOf, type MediaSource } from "../host.ts";
import { standInOf } from "../native_stand_in.ts";
import type { Box } from "./boxes.ts";
import { fitPicture } from "./fit_picture.ts";
import { roundingOf } from "./rounding.ts";

export interface FootageReport {
  readonly source: MediaSource;
  /** Where the whole picture would be, if nothing cut it off and nothing had moved. */
  readonly picture: Box;
  readonly radiusPx: number;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly isWhole: boolean;
}

/** Whether an element is the canvas of a video, or a video whose place a canvas has taken. */
export function isFootage(element: Element): boolean {
  if (element instanceof HTMLVideoElement) return standInOf(element)?.isConnected === true;
  return FrameCanvas.of(element) !== undefined || isSizeOnly(element);
}

/** What is drawn on top of the picture of a video, or changes it, must be filmed. */
export function footageObstacles(element: Element, style: CSSStyleDeclaration): string[] {
  if (FrameCanvas.of(element) === undefined) return [];
  const transforms = [style.transform, style.translate, style.rotate, style.scale];
  const shapes = [style.filter, style.clipPath, style.maskImage, style.backgroundImage];
  const insets = `${style.padding} ${style.borderWidth}`;
  const reasons: readonly [boolean, string][] = [
    [transforms.some((value) => value !== "none"), "a transformed video"],
    [style.opacity !== "1", "a video with an opacity"],
    [shapes.some((value) => value !== "none"), "a video with a filter, shape or background"],
    [style.backgroundColor !== "rgba(0, 0, 0, 0)", "a video with a background"],
    [!/^0px( 0px)*$/u.test(insets), "a video with a border or padding"],
    [style.boxShadow !== "none" || style.outlineStyle !== "none", "a video with a shadow"],
    [style.imageRendering !== "auto", "image-rendering"],
    [style.borderRadius !== "0px" && roundingOf(element) === null, "uneven corners"],
  ];
  return reasons.filter(([is]) => is).map(([, what]) => what);
}

/** What is shown in a canvas with that box; null for none, a text for what cannot be placed. */
export function describeFootage(element: Element, box: Box): FootageReport | string | null {
  const due = FrameCanvas.of(element)?.due ?? null;
  if (due === null) return null;
  const { source, info, isWhole } = due;
  if (info.durationMs === null || info.widthPx === null || info.heightPx === null) {
    return "a video that is a picture";
  }
  const { objectFit, objectPosition } = getComputedStyle(element);
  const size = [info.widthPx, info.heightPx] as const;
  const picture = fitPicture(box, size, objectFit, objectPosition);
  if (picture === null) return `object-position: ${objectPosition}`;
  const radiusPx = roundingOf(element) ?? 0;
  const [widthPx, heightPx] = size;
  return { source, picture, radiusPx, widthPx, heightPx, isWhole };
}

/** When in the source the picture is that is due; null if there is none of that source. */
export function footageMs(element: Element, source: MediaSource): number | null {
  const due: DueFrame | null = FrameCanvas.of(element)?.due ?? null;
  return due !== null && keyOf(due.source) === keyOf(source) ? due.sourceMs : null;
}

/** The canvas that gives a box its natural size is never seen. */
function isSizeOnly(element: Element): boolean {
  return element.matches("canvas.natural") && element.getRootNode() instanceof ShadowRoot;
}
