/**
 * ef-text: a text whose words, characters or lines are animated one after the other.
 *
 * Its text always becomes ef-text-segment children, also when a script changes it later. What the
 * author puts into a <template> is cloned for each unit instead of a bare segment.
 */

import { parseEasing } from "../text/easing.ts";
import { countUnits, parseSplit, splitText, type Piece, type Split } from "../text/split.ts";
import { staggerOffsetMs } from "../text/stagger.ts";
import { sheetOf } from "./picture_box.ts";
import { SegmentAnimation } from "./text_animation.ts";
import { TextSegment, type Unit } from "./text_segment.ts";
import { reflect, TIME_NAMES, TimedElement, timeTree } from "./timed.ts";

const MS_PER_UNIT = 1000;
const TEXT_TIME_NAMES = [...TIME_NAMES, "stagger"];
/** Stands for <br> in the text: whitespace that nobody types. */
const LINE_BREAK = "\u2028";
const STYLES = `
  :host { display: inline; }
  :host([split="line"]) { display: inline-block; }
`;

let styles: CSSStyleSheet | null = null;

export class TextElement extends TimedElement {
  static override get observedAttributes(): string[] {
    return [...super.observedAttributes, "split", "stagger", "easing"];
  }

  /** The text as it was given, and the nodes that were made of it. */
  private source = "";
  private made = new Set<ChildNode>();
  private built: TextSegment[] = [];
  private template: HTMLTemplateElement | null = null;
  private readonly observer = new MutationObserver(() => this.refresh());
  private readonly segmentAnimation: SegmentAnimation;

  constructor() {
    super();
    styles ??= sheetOf(STYLES);
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles];
    shadow.append(document.createElement("slot"));
    this.segmentAnimation = new SegmentAnimation(this, shadow);
  }

  override get timeNames(): readonly string[] {
    return TEXT_TIME_NAMES;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.observer.observe(this, { childList: true, characterData: true, subtree: true });
    if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", () => this.refresh(), { once: true });
    }
    this.refresh();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.observer.disconnect();
  }

  override attributeChangedCallback(
    name: string,
    before: string | null,
    after: string | null,
  ): void {
    super.attributeChangedCallback(name, before, after);
    if (["split", "stagger", "easing"].includes(name) && this.made.size > 0) this.build();
  }

  /** Inside groups that grow with their children a text asks for a second for each unit. */
  override intrinsicMs(): number | null {
    const mode = this.parentMode;
    if (mode !== "contain" && mode !== "sequence") return null;
    return countUnits(splitText(this.currentText(), this.splitMode)) * MS_PER_UNIT;
  }

  override pending(): string[] {
    this.refresh();
    return [];
  }

  override update(_ownMs: number): void {
    this.segmentAnimation.apply(this.built);
  }

  get segments(): TextSegment[] {
    this.refresh();
    return this.built;
  }

  /** For scripts: the segments, as soon as they are there. */
  async whenSegmentsReady(): Promise<TextSegment[]> {
    if (!this.isParsed()) {
      await new Promise((done) =>
        document.addEventListener("DOMContentLoaded", done, { once: true }),
      );
    }
    return this.segments;
  }

  private get splitMode(): Split {
    return parseSplit(this.getAttribute("split"));
  }

  /** Make segments of text that is not yet in segments. */
  private refresh(): void {
    if (!this.isConnected || !this.isParsed()) return;
    const foreign = this.foreignNodes();
    this.template = foreign.find((node) => node instanceof HTMLTemplateElement) ?? this.template;
    if (this.isIntact() && textOf(foreign).trim() === "") return;
    this.source = this.currentText();
    for (const node of foreign) if (!(node instanceof HTMLTemplateElement)) node.remove();
    this.build();
  }

  private foreignNodes(): ChildNode[] {
    return [...this.childNodes].filter((node) => !this.made.has(node));
  }

  private isIntact(): boolean {
    return [...this.made].every((node) => node.parentNode === this);
  }

  private currentText(): string {
    const text = textOf(this.foreignNodes());
    return this.isIntact() ? this.source + text : text;
  }

  /** Children come later than the element while the page is read: has the parser passed it? */
  private isParsed(): boolean {
    if (document.readyState !== "loading") return true;
    let at: Node | null = this;
    while (at !== null && at.nextSibling === null) at = at.parentNode;
    return at !== null;
  }

  private build(): void {
    for (const node of this.made) if (node.parentNode === this) node.remove();
    const pieces = splitText(this.source, this.splitMode);
    const units = this.unitsOf(pieces);
    const nodes = this.splitMode === "char" ? this.inWords(units) : units.map(this.nodeOf, this);
    this.made = new Set(nodes);
    this.append(...nodes);
    this.built = [...this.querySelectorAll<TextSegment>("ef-text-segment")];
    this.observer.takeRecords();
    this.segmentAnimation.forget();
    timeTree.invalidate();
  }

  private unitsOf(pieces: readonly Piece[]): Unit[] {
    const count = countUnits(pieces);
    const staggerMs = this.timeMs("stagger") ?? 0;
    const easing = parseEasing(this.getAttribute("easing") ?? "linear") ?? ((x: number) => x);
    return pieces.map((piece) => ({
      ...piece,
      isLine: this.splitMode === "line",
      staggerOffsetMs: staggerOffsetMs(piece.index, count, { staggerMs, easing }),
    }));
  }

  /** A line may break between words but never inside one. */
  private inWords(units: readonly Unit[]): ChildNode[] {
    const nodes: ChildNode[] = [];
    let word: HTMLElement | null = null;
    let wordIndex = -1;
    for (const unit of units) {
      if (unit.isSpace) {
        nodes.push(this.nodeOf(unit));
        word = null;
        continue;
      }
      if (word === null || unit.wordIndex !== wordIndex) {
        word = document.createElement("span");
        word.style.whiteSpace = "nowrap";
        nodes.push(word);
        wordIndex = unit.wordIndex;
      }
      word.append(this.nodeOf(unit));
    }
    return nodes;
  }

  private nodeOf(unit: Unit): ChildNode {
    if (unit.isSpace && unit.text.includes(LINE_BREAK)) return document.createElement("br");
    if (unit.isSpace || this.template === null) return segmentOf(unit);
    const clone = document.importNode(this.template.content, true);
    const segments = [...clone.querySelectorAll<TextSegment>("ef-text-segment")];
    if (segments.length === 0) return segmentOf(unit);
    for (const segment of segments) segment.assign(unit);
    if (segments.length === 1 && clone.children.length === 1) return segments[0] as TextSegment;
    // Several layers of one unit lie on each other, wherever the unit is.
    const layers = document.createElement("span");
    layers.style.cssText = "position: relative; display: inline-block; white-space: nowrap";
    layers.append(clone);
    return layers;
  }
}

function segmentOf(unit: Unit): TextSegment {
  const segment = document.createElement("ef-text-segment") as TextSegment;
  segment.assign(unit);
  return segment;
}

function textOf(nodes: Iterable<Node>): string {
  let text = "";
  for (const node of nodes) {
    if (node instanceof Text) text += node.data;
    else if (node instanceof HTMLBRElement) text += LINE_BREAK;
    else if (!(node instanceof Element) || node.matches("template, style, script")) continue;
    else text += textOf(node.childNodes);
  }
  return text;
}

reflect(TextElement.prototype, { split: "split", stagger: "stagger", easing: "easing" });
