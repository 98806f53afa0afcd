/** One unit of a text: a word, a character, a line, or the whitespace between them. */

import { seedOf } from "../text/stagger.ts";
import { sheetOf } from "./picture_box.ts";
import { TimedElement } from "./timed.ts";

export interface Unit {
  readonly text: string;
  readonly isSpace: boolean;
  readonly isLine: boolean;
  readonly index: number;
  readonly wordIndex: number;
  readonly staggerOffsetMs: number;
}

const STYLES = `
  :host { display: inline-block; }
  :host([data-unit="space"]) { display: inline; }
  :host([data-unit="line"]) { display: block; }
  :host([data-unit="blank"]) { display: block; white-space: pre; }
`;
// What a probe adds to the offset: anything that shows in the delay would do.
const PROBE_MS = 100_000;

let styles: CSSStyleSheet | null = null;

export class TextSegment extends TimedElement {
  private unit: Unit | null = null;
  private writesOffset: boolean | null = null;

  constructor() {
    super();
    styles ??= sheetOf(STYLES);
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles];
    shadow.append(document.createElement("slot"));
  }

  /** For pages that bring animations of their own by script: `css` becomes a style sheet. */
  static registerAnimations(name: string, css: string): void {
    TextSegment.unregisterAnimations(name);
    const style = document.createElement("style");
    style.dataset.textAnimations = name;
    style.textContent = css;
    (document.head ?? document.documentElement).append(style);
  }

  static unregisterAnimations(name: string): void {
    const selector = `style[data-text-animations="${CSS.escape(name)}"]`;
    document.querySelector(selector)?.remove();
  }

  /** Take a unit's text and numbers. */
  assign(unit: Unit): void {
    this.unit = unit;
    this.writesOffset = null;
    this.dataset.unit = kindOf(unit);
    const holder = this.querySelector(":scope *:not(:has(*))") ?? this;
    holder.textContent = unit.text;
    this.style.setProperty("--ef-index", String(unit.index));
    this.style.setProperty("--ef-word-index", String(unit.wordIndex));
    this.style.setProperty("--ef-stagger-offset", `${unit.staggerOffsetMs}ms`);
    this.style.setProperty("--ef-seed", String(seedOf(unit.index)));
  }

  get segmentIndex(): number {
    return this.unit?.index ?? 0;
  }

  get segmentText(): string {
    return this.unit?.text ?? this.textContent ?? "";
  }

  get staggerOffsetMs(): number {
    return this.unit?.staggerOffsetMs ?? 0;
  }

  get isSpace(): boolean {
    return this.unit?.isSpace ?? false;
  }

  override get participates(): boolean {
    return false;
  }

  override get isVisibleAtEnd(): boolean {
    return true;
  }

  /** How much later than the segment's own clock its animations run. */
  override get animationDelayMs(): number {
    const offsetMs = this.staggerOffsetMs;
    if (offsetMs === 0) return 0;
    this.writesOffset ??= this.usesOffsetItself(offsetMs);
    return this.writesOffset ? 0 : offsetMs;
  }

  /** Styles have changed: what was found out about them no longer holds. */
  forgetStyles(): void {
    this.writesOffset = null;
  }

  /** Whether the author's own delay uses --ef-stagger-offset: then it must not count twice. */
  private usesOffsetItself(offsetMs: number): boolean {
    const style = getComputedStyle(this);
    const before = style.animationDelay;
    this.style.setProperty("--ef-stagger-offset", `${offsetMs + PROBE_MS}ms`);
    const after = style.animationDelay;
    this.style.setProperty("--ef-stagger-offset", `${offsetMs}ms`);
    return before !== after;
  }
}

function kindOf(unit: Unit): string {
  if (unit.isSpace) return unit.isLine ? "blank" : "space";
  return unit.isLine ? "line" : "unit";
}
