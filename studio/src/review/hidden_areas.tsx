/** The picture as the render will show it: all areas that are hidden in this frame are filled. */

import type { JSX, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { hideAll, RING_PX, type Rect } from "./fill.ts";

export function HiddenAreas({
  film,
  rectsIn,
}: {
  /** Contains the picture of a frame and, while it plays, the film. */
  film: RefObject<HTMLElement | null>;
  /** The areas in pixels of a picture of this size. */
  rectsIn: (width: number, height: number) => readonly Rect[];
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(rectsIn);
  latest.current = rectsIn;
  const draw = useRef(() => {
    const found = film.current && shownPicture(film.current);
    if (canvas.current && found) paint(canvas.current, found, latest.current);
  });
  useEffect(() => draw.current());
  useEffect(() => {
    const around = film.current;
    if (around === null) return;
    const video = around.querySelector("video");
    const redraw = (): void => draw.current();
    let request = 0;
    const follow = (): void => {
      redraw();
      request = video?.requestVideoFrameCallback(follow) ?? 0;
    };
    // The event of a picture does not bubble.
    around.addEventListener("load", redraw, true);
    request = video?.requestVideoFrameCallback(follow) ?? 0;
    return () => {
      around.removeEventListener("load", redraw, true);
      video?.cancelVideoFrameCallback(request);
    };
  }, []);
  return (
    <canvas ref={canvas} class="review-picture" aria-label="Preview of the redaction" role="img" />
  );
}

type Shown = HTMLImageElement | HTMLVideoElement;

function shownPicture(film: HTMLElement): Shown | null {
  const video = film.querySelector<HTMLVideoElement>("video:not([hidden])");
  if (video !== null && video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) return video;
  const image = film.querySelector<HTMLImageElement>("img.review-picture");
  return image?.complete && image.naturalWidth > 0 ? image : null;
}

function paint(
  canvas: HTMLCanvasElement,
  shown: Shown,
  rectsIn: (width: number, height: number) => readonly Rect[],
): void {
  const [width, height] =
    shown instanceof HTMLVideoElement
      ? [shown.videoWidth, shown.videoHeight]
      : [shown.naturalWidth, shown.naturalHeight];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null) return;
  context.drawImage(shown, 0, 0, width, height);
  const rects = rectsIn(width, height);
  if (rects.length === 0) return;
  // Only what is hidden and the pixels around it are read.
  const left = Math.max(0, Math.min(...rects.map((each) => each.left)) - RING_PX);
  const top = Math.max(0, Math.min(...rects.map((each) => each.top)) - RING_PX);
  const right = Math.min(width, Math.max(...rects.map((each) => each.right)) + RING_PX);
  const bottom = Math.min(height, Math.max(...rects.map((each) => each.bottom)) + RING_PX);
  const pixels = context.getImageData(left, top, right - left, bottom - top);
  const inside = rects.map((each) => ({
    left: each.left - left,
    top: each.top - top,
    right: each.right - left,
    bottom: each.bottom - top,
  }));
  hideAll(pixels, inside);
  context.putImageData(pixels, left, top);
}
