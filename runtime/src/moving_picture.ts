/** Animated GIF, WebP, PNG and AVIF by the film's time: the renderer decodes, a canvas shows. */

import { FrameBuffer } from "./frame_buffer.ts";
import { putPixels } from "./frame_canvas.ts";
import { askNow, fetchPixels } from "./host.ts";
import { mayMove, pictureAt, type AnimatedPicture } from "./timing/animated_picture.ts";

export interface Animation extends AnimatedPicture {
  readonly id: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** What the renderer says of the pictures that it has served so far. */
interface Served {
  readonly moving: Readonly<Record<string, Animation>>;
  readonly still: readonly string[];
  /** Of the one that was asked for by its data address. */
  readonly written: Animation | null;
}

const known = new Map<string, Animation | null>();

/** What is animated about a loaded picture; null for a still. Asks for many pictures at once. */
function animationOf(url: string): Animation | null {
  const address = url.split("#", 1)[0] ?? "";
  if (!known.has(address)) loadAnimation(address);
  return known.get(address) ?? null;
}

function loadAnimation(address: string): void {
  const isWritten = address.startsWith("data:");
  known.set(address, null);
  if (isWritten ? !mayMove(address) : !/^https?:/.test(address)) return;
  try {
    const answer = askNow("animations", isWritten ? { src: address } : {});
    const { moving, still, written } = JSON.parse(answer.responseText) as Served;
    if (isWritten) known.set(address, written);
    for (const url of still) known.set(url, null);
    for (const [url, animation] of Object.entries(moving)) known.set(url, animation);
  } catch {
    // The browser shows it as well as it can.
  }
}

export class MovingPicture {
  readonly canvas = document.createElement("canvas");
  readonly animation: Animation;
  private readonly buffer: FrameBuffer;
  private shown = -1;

  /** Of a loaded image; null if it is a still. */
  static of(image: HTMLImageElement): MovingPicture | null {
    const animation = image.naturalWidth > 0 ? animationOf(image.currentSrc) : null;
    return animation === null ? null : new MovingPicture(animation);
  }

  constructor(animation: Animation) {
    this.animation = animation;
    this.buffer = new FrameBuffer(animation.widthPx * animation.heightPx * 4);
  }

  /** Show what is on so long after its start. */
  show(sinceMs: number): void {
    const number = pictureAt(this.animation, sinceMs);
    if (number === this.shown) return;
    const params = { id: `${this.animation.id}`, number: `${number}` };
    fetchPixels("picture", params, this.buffer);
    putPixels(this.canvas, this.buffer.bytes, this.animation);
    this.shown = number;
  }
}
