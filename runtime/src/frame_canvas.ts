/** A canvas that shows decoded frames: which size to ask for, and not asking twice. */

import { FrameBuffer } from "./frame_buffer.ts";
import { fetchFrame, keyOf, type MediaInfo, type MediaSource } from "./host.ts";

export class FrameCanvas {
  readonly canvas: HTMLCanvasElement = document.createElement("canvas");
  private shown = "";
  private buffer: FrameBuffer | null = null;

  /** Draw the picture of that source instant, unless it is the one that is shown. */
  draw(source: MediaSource, info: MediaInfo, sourceMs: number, needsWhole: boolean): void {
    if (info.widthPx === null || info.heightPx === null) return;
    const whole = { widthPx: info.widthPx, heightPx: info.heightPx };
    const size = needsWhole ? whole : sizeToAsk(whole, this.canvas);
    const wanted = `${keyOf(source)} ${sourceMs} ${size.widthPx} ${size.heightPx}`;
    if (wanted === this.shown) return;
    const sizeBytes = size.widthPx * size.heightPx * 4;
    if (this.buffer?.bytes.length !== sizeBytes) this.buffer = new FrameBuffer(sizeBytes);
    fetchFrame({ source, sourceMs, ...size }, this.buffer);
    if (this.canvas.width !== size.widthPx) this.canvas.width = size.widthPx;
    if (this.canvas.height !== size.heightPx) this.canvas.height = size.heightPx;
    const picture = new ImageData(this.buffer.bytes, size.widthPx, size.heightPx);
    // Read back often, in the renderer's words: keeps the canvas in memory, where we write it.
    this.canvas.getContext("2d", { willReadFrequently: true })?.putImageData(picture, 0, 0);
    this.shown = wanted;
  }
}

interface PictureSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/**
 * As many pixels as are seen, never more than there are. Under a transform the whole picture is
 * asked for, so that a moving scale does not change the sharpness from frame to frame.
 */
function sizeToAsk(whole: PictureSize, canvas: HTMLCanvasElement): PictureSize {
  const box = { widthPx: canvas.clientWidth, heightPx: canvas.clientHeight };
  const seen = canvas.getBoundingClientRect();
  const isTransformed =
    Math.abs(seen.width - box.widthPx) > 1 || Math.abs(seen.height - box.heightPx) > 1;
  if (box.widthPx === 0 || box.heightPx === 0 || isTransformed) return whole;
  return scaledInto(whole, box, getComputedStyle(canvas).objectFit);
}

export function scaledInto(whole: PictureSize, box: PictureSize, fit: string): PictureSize {
  const across = box.widthPx / whole.widthPx;
  const down = box.heightPx / whole.heightPx;
  if (fit === "none") return whole;
  const scale = fit === "cover" || fit === "fill" ? Math.max(across, down) : Math.min(across, down);
  if (scale >= 1) return whole;
  return {
    widthPx: Math.max(1, Math.round(whole.widthPx * scale)),
    heightPx: Math.max(1, Math.round(whole.heightPx * scale)),
  };
}
