/**
 * ef-motionblur: smears what moves in it, as an open shutter would.
 *
 * How far a child moves while the shutter is open is measured by setting its own animations back
 * by that time, so a frame looks the same whichever was drawn before. Movement that scripts make
 * is not seen. The smear is the mean of the picture at many places along the way.
 */

import { followsTime } from "../animation.ts";
import { parseNumber } from "../timing/parse.ts";
import { sheetOf } from "./picture_box.ts";
import { followers, reflect, type Follower } from "./timed.ts";

const SVG = "http://www.w3.org/2000/svg";
const MAX_HALVINGS = 6;
// Finished animations are held this much before their end, so that they stay in force.
const HELD_BEFORE_END_MS = 0.2;

interface Vector {
  readonly x: number;
  readonly y: number;
}

let styles: CSSStyleSheet | null = null;
let filters: SVGSVGElement | null = null;
let lastFilter = 0;

export class MotionBlurElement extends HTMLElement implements Follower {
  private readonly smears = new Map<HTMLElement, Smear>();

  constructor() {
    super();
    styles ??= sheetOf(":host { display: contents; }");
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [styles];
    root.append(document.createElement("slot"));
  }

  connectedCallback(): void {
    followers.add(this);
  }

  disconnectedCallback(): void {
    followers.delete(this);
    for (const smear of this.smears.values()) smear.remove();
    this.smears.clear();
  }

  follow(): void {
    for (const child of this.children) {
      if (child instanceof HTMLElement) this.smear(child);
    }
  }

  private smear(child: HTMLElement): void {
    const way = this.wayOf(child);
    const length = Math.hypot(way.x, way.y);
    const smear = this.smears.get(child);
    if (length === 0 || length < this.number("threshold", 0.5)) {
      smear?.clear();
      return;
    }
    const shown = smear ?? new Smear(child);
    this.smears.set(child, shown);
    shown.draw(inOwnSpace(child, way));
  }

  /** Where the child comes from, seen from where it is, in pixels of the page. */
  private wayOf(child: HTMLElement): Vector {
    const measured = displacement(child, this.shutterMs());
    const sensitivity = this.number("sensitivity", 1);
    const amountPx = this.number("amount", Math.hypot(measured.x, measured.y) * sensitivity);
    const ownAngle = Math.atan2(measured.y, measured.x);
    const angle = (this.number("angle", (ownAngle * 180) / Math.PI) * Math.PI) / 180;
    return { x: -Math.cos(angle) * amountPx, y: -Math.sin(angle) * amountPx };
  }

  private shutterMs(): number {
    const fps = this.number("fps", 30);
    return fps > 0 ? (this.number("shutter-angle", 180) / 360) * (1000 / fps) : 0;
  }

  private number(name: string, otherwise: number): number {
    const text = this.getAttribute(name) ?? this.getAttribute(name.replaceAll("-", ""));
    return parseNumber(text) ?? otherwise;
  }
}

/** How far the middle of the child has moved in the last `shutterMs`. */
function displacement(child: HTMLElement, shutterMs: number): Vector {
  const animations = child.getAnimations().filter(followsTime);
  const times = animations.map((animation) => animation.currentTime);
  if (animations.length === 0 || shutterMs <= 0) return { x: 0, y: 0 };
  const now = middleOf(child);
  for (const animation of animations) animation.currentTime = earlier(animation, shutterMs);
  const before = middleOf(child);
  animations.forEach((animation, i) => {
    animation.currentTime = times[i] ?? null;
  });
  return { x: now.x - before.x, y: now.y - before.y };
}

/** Before its start and from its end on nothing moves; a jump to its start is no movement. */
function earlier(animation: Animation, shutterMs: number): CSSNumberish | null {
  const time = animation.currentTime;
  const timing = animation.effect?.getComputedTiming();
  if (typeof time !== "number" || timing === undefined) return time;
  const startMs = timing.delay ?? 0;
  const isMoving = startMs < time && time < Number(timing.endTime) - HELD_BEFORE_END_MS;
  return isMoving ? Math.max(startMs, time - shutterMs) : time;
}

function middleOf(child: HTMLElement): Vector {
  const box = child.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** A filter works before the element's own rotation and scaling: turn the way back by them. */
function inOwnSpace(child: HTMLElement, way: Vector): Vector {
  const style = getComputedStyle(child);
  const turn = Number.parseFloat(style.rotate) || 0;
  const [scaleX = 1, scaleY = scaleX] = style.scale.split(" ").map(Number).filter(Number.isFinite);
  const matrix = new DOMMatrix().rotate(turn).scale(scaleX, scaleY);
  if (style.transform !== "none") matrix.multiplySelf(new DOMMatrix(style.transform));
  const determinant = matrix.a * matrix.d - matrix.b * matrix.c;
  if (determinant === 0) return { x: 0, y: 0 };
  return {
    x: (matrix.d * way.x - matrix.c * way.y) / determinant,
    y: (matrix.a * way.y - matrix.b * way.x) / determinant,
  };
}

/** The filter of one child, and its place in the child's own list of filters. */
class Smear {
  private readonly child: HTMLElement;
  private readonly filter = document.createElementNS(SVG, "filter");
  private readonly written: string;
  private drawn = "";

  constructor(child: HTMLElement) {
    this.child = child;
    this.written = child.style.filter;
    lastFilter += 1;
    this.filter.id = `framekiln-motion-blur-${lastFilter}`;
    this.filter.setAttribute("filterUnits", "userSpaceOnUse");
    this.filter.setAttribute("color-interpolation-filters", "sRGB");
    filterContainer().append(this.filter);
  }

  /** Halve the way again and again: six steps are the mean of 64 pictures. */
  draw(way: Vector): void {
    const size = { width: this.child.offsetWidth, height: this.child.offsetHeight };
    const key = [way.x, way.y, size.width, size.height].map((n) => n.toFixed(2)).join(" ");
    this.child.style.filter = `${this.written} url("#${this.filter.id}")`.trim();
    if (key === this.drawn) return;
    this.drawn = key;
    this.cover(way, size);
    const length = Math.hypot(way.x, way.y);
    const halvings = Math.min(MAX_HALVINGS, Math.max(1, Math.ceil(Math.log2(length))));
    const steps: SVGElement[] = [];
    for (let i = 1; i <= halvings; i += 1) {
      const dx = String(way.x / 2 ** i);
      const dy = String(way.y / 2 ** i);
      const sharp = i === 1 ? "SourceGraphic" : `mean${i - 1}`;
      steps.push(
        primitive("feOffset", { in: sharp, dx, dy, result: `moved${i}` }),
        primitive("feComposite", {
          in: sharp,
          in2: `moved${i}`,
          operator: "arithmetic",
          k1: "0",
          k2: "0.5",
          k3: "0.5",
          k4: "0",
          result: `mean${i}`,
        }),
      );
    }
    this.filter.replaceChildren(...steps);
  }

  clear(): void {
    if (this.drawn === "") return;
    this.drawn = "";
    this.child.style.filter = this.written;
  }

  remove(): void {
    this.clear();
    this.filter.remove();
  }

  /** What sticks out of the child (a shadow, an overflow) is smeared with it. */
  private cover(way: Vector, size: { width: number; height: number }): void {
    const x = Math.abs(way.x) + size.width;
    const y = Math.abs(way.y) + size.height;
    this.filter.setAttribute("x", String(-x));
    this.filter.setAttribute("y", String(-y));
    this.filter.setAttribute("width", String(2 * x + size.width));
    this.filter.setAttribute("height", String(2 * y + size.height));
  }
}

function primitive(name: string, attributes: Record<string, string>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Filters are found by id, so they live in the document, outside the author's part of it. */
function filterContainer(): SVGSVGElement {
  if (filters?.isConnected) return filters;
  filters = document.createElementNS(SVG, "svg");
  filters.setAttribute("width", "0");
  filters.setAttribute("height", "0");
  filters.style.cssText = "position: absolute; width: 0; height: 0; pointer-events: none";
  document.documentElement.append(filters);
  return filters;
}

reflect(MotionBlurElement.prototype, {
  shutterAngle: "shutter-angle",
  fps: "fps",
  sensitivity: "sensitivity",
  threshold: "threshold",
  angle: "angle",
  amount: "amount",
});
