/**
 * The canvas that stands in the place of a native <video>.
 *
 * A <video> cannot be told which picture to show, so it is taken out of the flow, unseen but alive
 * (its animations go on), and a canvas with the same computed style takes its place.
 */

import { FrameCanvas } from "./frame_canvas.ts";
import type { MediaInfo, MediaSource } from "./host.ts";
import { sheetOf } from "./elements/picture_box.ts";

const REPLACED = "data-framekiln-replaced";
const LOOK = `[${REPLACED}] { position: absolute !important; visibility: hidden !important; }`;

const SIDES = ["top", "right", "bottom", "left"];
const CORNERS = ["top-left", "top-right", "bottom-right", "bottom-left"];

/** What decides where a replaced element lies and how it looks. */
const COPIED: readonly string[] = [
  ...["display", "position", "float", "clear", "visibility", "order", "z-index", "box-sizing"],
  ...["width", "height", "min-width", "min-height", "max-width", "max-height", "aspect-ratio"],
  ...["object-fit", "object-position", "image-rendering", "vertical-align", "opacity", "overflow"],
  ...["flex-grow", "flex-shrink", "flex-basis", "align-self", "justify-self", "isolation"],
  ...["grid-row-start", "grid-row-end", "grid-column-start", "grid-column-end"],
  ...["transform", "transform-origin", "translate", "rotate", "scale", "offset-path"],
  ...["filter", "backdrop-filter", "clip-path", "mix-blend-mode", "box-shadow"],
  ...["mask-image", "mask-size", "mask-position", "mask-repeat", "mask-mode"],
  ...["background-color", "background-image", "outline-width", "outline-style", "outline-color"],
  ...SIDES,
  ...SIDES.flatMap((side) => [`margin-${side}`, `padding-${side}`]),
  ...SIDES.flatMap((side) => ["width", "style", "color"].map((kind) => `border-${side}-${kind}`)),
  ...CORNERS.map((corner) => `border-${corner}-radius`),
];

const standIns = new WeakMap<HTMLVideoElement, StandIn>();
let isLookInstalled = false;

export function standInOf(video: HTMLVideoElement): HTMLCanvasElement | null {
  return standIns.get(video)?.canvas ?? null;
}

export class StandIn {
  private readonly video: HTMLVideoElement;
  private readonly frames = new FrameCanvas();

  constructor(video: HTMLVideoElement) {
    this.video = video;
    this.canvas.setAttribute("aria-hidden", "true");
    standIns.set(video, this);
    installLook();
  }

  get canvas(): HTMLCanvasElement {
    return this.frames.canvas;
  }

  /** Take the video's place, as it is styled now. */
  place(info: MediaInfo): void {
    if (!this.video.isConnected) {
      this.canvas.remove();
      return;
    }
    if (this.canvas.previousSibling !== this.video) this.video.after(this.canvas);
    this.copyStyle(info);
  }

  draw(source: MediaSource, info: MediaInfo, sourceMs: number): void {
    // In a canvas that gives its own size to its box, fewer pixels would make a smaller box.
    this.frames.draw(source, info, sourceMs, true);
  }

  private copyStyle(info: MediaInfo): void {
    this.video.removeAttribute(REPLACED);
    const style = this.video.computedStyleMap();
    const values = COPIED.map((name) => [name, style.get(name)?.toString() ?? ""] as const);
    this.video.setAttribute(REPLACED, "");
    for (const [name, value] of values) {
      if (this.canvas.style.getPropertyValue(name) !== value) {
        this.canvas.style.setProperty(name, value, "important");
      }
    }
    if (this.canvas.width === 300 && info.widthPx !== null) this.canvas.width = info.widthPx;
    if (this.canvas.height === 150 && info.heightPx !== null) this.canvas.height = info.heightPx;
  }
}

function installLook(): void {
  if (isLookInstalled) return;
  isLookInstalled = true;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheetOf(LOOK)];
}
