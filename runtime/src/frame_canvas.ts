/** A canvas that shows decoded frames: which size to ask for, and not asking twice. */

import { FrameBuffer } from "./frame_buffer.ts";
import { fetchFrame, keyOf, type MediaInfo, type MediaSource } from "./host.ts";

/** A picture that is due. */
export interface DueFrame {
  readonly source: MediaSource;
  readonly info: MediaInfo;
  readonly sourceMs: number;
  /** Whether it would be fetched in the size of the source, wherever it is shown. */
  readonly isWhole: boolean;
}

const byCanvas = new WeakMap<Element, FrameCanvas>();
let isOnlyNoted = false;

/** From now on pictures are not fetched: the renderer places them itself. */
export function onlyNoteFrames(): void {
  isOnlyNoted = true;
}

export function areFramesOnlyNoted(): boolean {
  return isOnlyNoted;
}

export class FrameCanvas {
  readonly canvas: HTMLCanvasElement = document.createElement("canvas");
  /** The picture that would be shown, while none is fetched. */
  due: DueFrame | null = null;
  private shown = "";
  private shownMs = 0;
  private buffer: FrameBuffer | null = null;

  constructor() {
    byCanvas.set(this.canvas, this);
  }

  /** What draws the frames in a canvas; undefined for any other element. */
  static of(element: Element): FrameCanvas | undefined {
    return byCanvas.get(element);
  }

  /**
   * Draw the picture of that source instant, unless it is the one that is shown. Returns when in the
   * source the picture appears.
   */
  draw(source: MediaSource, info: MediaInfo, sourceMs: number, needsFullSize: boolean): number {
    if (info.widthPx === null || info.heightPx === null) return 0;
    const fullSize = { widthPx: info.widthPx, heightPx: info.heightPx };
    const size = needsFullSize ? fullSize : sizeToAsk(fullSize, this.canvas);
    if (isOnlyNoted) {
      this.due = { source, info, sourceMs, isWhole: needsFullSize };
      resize(this.canvas, size);
      return sourceMs;
    }
    const wanted = `${keyOf(source)} ${sourceMs} ${size.widthPx} ${size.heightPx}`;
    if (wanted === this.shown) return this.shownMs;
    const sizeBytes = size.widthPx * size.heightPx * 4;
    if (this.buffer?.bytes.length !== sizeBytes) this.buffer = new FrameBuffer(sizeBytes);
    this.shownMs = fetchFrame({ source, sourceMs, ...size }, this.buffer);
    putPixels(this.canvas, this.buffer.bytes, size);
    this.shown = wanted;
    return this.shownMs;
  }
}

/** Show pixels in a canvas of just their size. */
export function putPixels(
  canvas: HTMLCanvasElement,
  bytes: Uint8ClampedArray<ArrayBuffer>,
  { widthPx, heightPx }: PictureSize,
): void {
  resize(canvas, { widthPx, heightPx });
  // Read back often, in the renderer's words: keeps the canvas in memory, where we write it.
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context?.putImageData(new ImageData(bytes, widthPx, heightPx), 0, 0);
}

function resize(canvas: HTMLCanvasElement, { widthPx, heightPx }: PictureSize): void {
  if (canvas.width !== widthPx) canvas.width = widthPx;
  if (canvas.height !== heightPx) canvas.height = heightPx;
}

export interface PictureSize {
  readonly widthPx: number;
  readonly heightPx: number;
}

/**
 * As many pixels as are seen, never more than there are. Under a transform the whole picture is
 * asked for, so that a moving scale does not change the sharpness from frame to frame.
 */
function sizeToAsk(fullSize: PictureSize, canvas: HTMLCanvasElement): PictureSize {
  const box = { widthPx: canvas.clientWidth, heightPx: canvas.clientHeight };
  const seen = canvas.getBoundingClientRect();
  const isTransformed =
    Math.abs(seen.width - box.widthPx) > 1 || Math.abs(seen.height - box.heightPx) > 1;
  if (box.widthPx === 0 || box.heightPx === 0 || isTransformed) return fullSize;
  return scaledInto(fullSize, box, getComputedStyle(canvas).objectFit);
}

export function scaledInto(fullSize: PictureSize, box: PictureSize, fit: string): PictureSize {
  const across = box.widthPx / fullSize.widthPx;
  const down = box.heightPx / fullSize.heightPx;
  if (fit === "none") return fullSize;
  const scale = fit === "cover" || fit === "fill" ? Math.max(across, down) : Math.min(across, down);
  if (scale >= 1) return fullSize;
  return {
    widthPx: Math.max(1, Math.round(fullSize.widthPx * scale)),
    heightPx: Math.max(1, Math.round(fullSize.heightPx * scale)),
  };
}
