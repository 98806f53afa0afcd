/** ef-pan-zoom: moves and scales what is in it, by its attributes or so that all of it is seen. */

import { parseNumber, spellings } from "../timing/parse.ts";
import { around, fit, type Box, type Move } from "./fit.ts";
import { sheetOf } from "./picture_box.ts";
import { fitted, reflect, type Fitted } from "./timed.ts";

const STYLES = `
:host { display: block; position: relative; overflow: hidden; }
.content { width: 100%; height: 100%; transform-origin: 0 0; }
`;
const AUTO_FIT = spellings("auto-fit");
const UNMOVED: Move = { x: 0, y: 0, scale: 1 };

export class PanZoomElement extends HTMLElement implements Fitted {
  static readonly observedAttributes = ["x", "y", "scale", ...AUTO_FIT];
  private readonly content = document.createElement("div");
  /** Scripts may change sizes after `fit` in the same frame. */
  private readonly sizes = new ResizeObserver(() => this.fit());

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(STYLES)];
    this.content.className = "content";
    const slot = document.createElement("slot");
    slot.addEventListener("slotchange", () => this.follow());
    this.content.append(slot);
    root.append(this.content);
  }

  connectedCallback(): void {
    this.follow();
  }

  disconnectedCallback(): void {
    this.follow();
  }

  attributeChangedCallback(name: string): void {
    if (AUTO_FIT.includes(name)) this.follow();
    this.fit();
  }

  fit(): void {
    const move = this.fitsContent ? this.fittingMove() : { ...UNMOVED, ...this.written() };
    const isMoved = move.x !== 0 || move.y !== 0 || move.scale !== 1;
    const transform = isMoved ? `translate(${move.x}px, ${move.y}px) scale(${move.scale})` : "";
    this.content.style.transform = transform;
  }

  private fittingMove(): Move {
    const content = around([...boxesIn(this, this.content)]);
    const { offsetWidth: width, offsetHeight: height } = this.content;
    const canFit = content !== null && width > 0 && height > 0;
    const written = this.written();
    return canFit ? fit({ width, height }, content, written) : { ...UNMOVED, ...written };
  }

  private get fitsContent(): boolean {
    const value = AUTO_FIT.map((name) => this.getAttribute(name)).find((value) => value !== null);
    return value !== undefined && value !== "false";
  }

  /** Watch what decides about the fit, as long as there is one. */
  private follow(): void {
    this.sizes.disconnect();
    fitted.delete(this);
    if (!this.isConnected || !this.fitsContent) return;
    fitted.add(this);
    for (const element of [this, ...this.children]) this.sizes.observe(element);
  }

  private written(): Partial<Move> {
    const named = (["x", "y", "scale"] as const).map((name) => {
      return [name, parseNumber(this.getAttribute(name))] as const;
    });
    return Object.fromEntries(named.filter(([, value]) => value !== null));
  }
}

/** Where children lie in `frame` by layout alone: what only moves in its place changes no fit. */
function* boxesIn(parent: Element, frame: HTMLElement): Generator<Box> {
  for (const node of parent.childNodes) {
    if (node instanceof HTMLElement && getComputedStyle(node).display === "contents") {
      yield* boxesIn(node, frame);
    } else if (node instanceof HTMLElement) {
      yield {
        x: node.offsetLeft - frame.offsetLeft,
        y: node.offsetTop - frame.offsetTop,
        width: node.offsetWidth,
        height: node.offsetHeight,
      };
    } else if (node instanceof Element || node instanceof Text) {
      yield drawnBox(node, frame);
    }
  }
}

/** Text and drawings have no place in the layout that scripts can read, only one on the screen. */
function drawnBox(node: Node, frame: HTMLElement): Box {
  const range = document.createRange();
  range.selectNode(node);
  const seen = range.getBoundingClientRect();
  const around = frame.getBoundingClientRect();
  const scale = around.width / frame.offsetWidth;
  // Rounded, so that the transform of the frame before leaves no trace.
  const inFrame = (px: number) => Math.round((px / scale) * 64) / 64;
  return {
    x: inFrame(seen.x - around.x),
    y: inFrame(seen.y - around.y),
    width: inFrame(seen.width),
    height: inFrame(seen.height),
  };
}

reflect(PanZoomElement.prototype, { x: "x", y: "y", scale: "scale", autoFit: "auto-fit" });
