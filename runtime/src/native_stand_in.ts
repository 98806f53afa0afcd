/**
 * The canvas that stands in the place of a native <video> or an animated <img>.
 *
 * Neither can be set to a picture, so it is taken out of the flow, hidden but running (its
 * animations go on), and a canvas with the same computed style takes its place.
 */

import { sheetOf } from "./elements/picture_box.ts";

const REPLACED = "data-framekiln-replaced";
const STYLES = `[${REPLACED}] { position: absolute !important; visibility: hidden !important; }`;

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

const standIns = new WeakMap<Element, StandIn>();
let sheet: CSSStyleSheet | null = null;

export function standInOf(element: Element): HTMLCanvasElement | null {
  return standIns.get(element)?.canvas ?? null;
}

interface NaturalSize {
  readonly widthPx: number | null;
  readonly heightPx: number | null;
}

export class StandIn {
  readonly canvas: HTMLCanvasElement;
  private readonly element: HTMLElement;

  constructor(element: HTMLElement, canvas: HTMLCanvasElement) {
    this.element = element;
    this.canvas = canvas;
    canvas.setAttribute("aria-hidden", "true");
    standIns.set(element, this);
  }

  /** Take the element's place, as it is styled now. */
  place(size: NaturalSize): void {
    if (!this.element.isConnected) {
      this.canvas.remove();
      return;
    }
    installStyles(this.element.getRootNode());
    if (this.canvas.previousSibling !== this.element) this.element.after(this.canvas);
    this.copyStyle(size);
  }

  /** Whether its pictures are needed in their own size. */
  get showsWhole(): boolean {
    const { width, height } = this.canvas.style;
    // In a box without a size of its own, fewer pixels would make a smaller box.
    return !(width.endsWith("px") && height.endsWith("px")) || mayBeCopied();
  }

  /** Give the place back. */
  leave(): void {
    this.canvas.remove();
    this.element.removeAttribute(REPLACED);
    standIns.delete(this.element);
  }

  private copyStyle(size: NaturalSize): void {
    this.element.removeAttribute(REPLACED);
    const style = this.element.computedStyleMap();
    const values = COPIED.map((name) => [name, style.get(name)?.toString() ?? ""] as const);
    this.element.setAttribute(REPLACED, "");
    for (const [name, value] of values) {
      if (this.canvas.style.getPropertyValue(name) !== value) {
        this.canvas.style.setProperty(name, value, "important");
      }
    }
    if (this.canvas.width === 300 && size.widthPx !== null) this.canvas.width = size.widthPx;
    if (this.canvas.height === 150 && size.heightPx !== null) this.canvas.height = size.heightPx;
  }
}

/** Whether anything may show the pictures elsewhere. */
function mayBeCopied(): boolean {
  const isCode = ({ type }: HTMLScriptElement): boolean => !/json|text\/plain/iu.test(type);
  return [...document.scripts].some(isCode) || document.querySelector("ef-surface") !== null;
}

/** The styles of a document do not apply in its shadow trees. */
function installStyles(root: Node): void {
  if (!(root instanceof Document || root instanceof ShadowRoot)) return;
  sheet ??= sheetOf(STYLES);
  if (root.adoptedStyleSheets.includes(sheet)) return;
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
