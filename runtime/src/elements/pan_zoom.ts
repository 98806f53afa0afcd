/** ef-pan-zoom: moves and scales what is in it, by its attributes alone. */

import { sheetOf } from "./picture_box.ts";
import { reflect } from "./timed.ts";

const LOOK = `
:host { display: block; position: relative; overflow: hidden; }
.content { width: 100%; height: 100%; transform-origin: 0 0; }
`;

export class PanZoomElement extends HTMLElement {
  static readonly observedAttributes = ["x", "y", "scale"];
  private readonly content = document.createElement("div");

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(LOOK)];
    this.content.className = "content";
    this.content.append(document.createElement("slot"));
    root.append(this.content);
  }

  attributeChangedCallback(): void {
    const x = this.number("x", 0);
    const y = this.number("y", 0);
    const scale = this.number("scale", 1);
    const isMoved = x !== 0 || y !== 0 || scale !== 1;
    this.content.style.transform = isMoved ? `translate(${x}px, ${y}px) scale(${scale})` : "";
  }

  private number(name: string, otherwise: number): number {
    const value = Number.parseFloat(this.getAttribute(name) ?? "");
    return Number.isFinite(value) ? value : otherwise;
  }
}

reflect(PanZoomElement.prototype, { x: "x", y: "y", scale: "scale" });
