/**
 * The base of every timed element: its attributes, its place in time, how it hides and shows.
 *
 * A subclass says how long its content is (`intrinsicMs`), what it waits for (`pending`), why it
 * cannot be rendered (`failure`), and draws itself (`update`). `intrinsicMs` must not read times of
 * other elements (they depend on it); `ownLengthMs()` of another element is safe.
 */

import { selectorOf } from "../selector.ts";
import { modeOf, ownLengthMs, type Mode, type Span, type TimeNode } from "../timing/model.ts";
import { parseNumber, parseTimeMs, spellings, TIME_FORMS } from "../timing/parse.ts";
import { TimeTree } from "../timing/tree.ts";

const MODES: readonly string[] = ["fixed", "sequence", "contain", "fit"];
const TIMES = [
  "duration",
  "offset",
  "overlap",
  "source-in",
  "source-out",
  "trim-start",
  "trim-end",
];

export const TIME_NAMES: readonly string[] = TIMES.flatMap(spellings);

/** What is not timed itself but follows what is: called last in each frame. */
export interface Follower {
  follow(nowMs: number): void;
}

export const followers = new Set<Follower>();

/** What moves content by its layout: called in each frame before anything is painted. */
export interface Fitted {
  fit(): void;
}

export const fitted = new Set<Fitted>();

export abstract class TimedElement extends HTMLElement {
  static get observedAttributes(): string[] {
    return [...TIMES.flatMap(spellings), "mode", "fps"];
  }

  private isHidden = false;
  private shownDisplay = "";
  private shownPriority = "";

  connectedCallback(): void {
    timeTree.add(this);
  }

  disconnectedCallback(): void {
    timeTree.remove(this);
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) timeTree.invalidate();
  }

  /** Length of the element's own content, or null when it has none. */
  intrinsicMs(): number | null {
    return null;
  }

  /** Names of what it waits for before it can be drawn. */
  pending(): string[] {
    return [];
  }

  /** Why it can never be drawn, or "". */
  failure(): string {
    return "";
  }

  /** Draw the element at `ownMs` of its own clock. Called in each frame while it is visible. */
  update(_ownMs: number): void {}

  /** Draw what hangs on where it lies. Called after `update`, when animations stand at their time. */
  paint(_ownMs: number): void {}

  /** Whether it is a group that times its children. */
  get isGroup(): boolean {
    return false;
  }

  /** Whether it plays a source. */
  get isMedia(): boolean {
    return false;
  }

  /** Whether a length of its own counts for its parent's. */
  get participates(): boolean {
    return true;
  }

  /** Whether it is still seen at the very instant of its end. */
  get isVisibleAtEnd(): boolean {
    return false;
  }

  /** How much later than its own clock the animations in it run. */
  get animationDelayMs(): number {
    return 0;
  }

  get startTimeMs(): number {
    return timeTree.spanOf(this).startMs;
  }

  get endTimeMs(): number {
    return timeTree.spanOf(this).endMs;
  }

  get durationMs(): number {
    return timeTree.spanOf(this).lengthMs;
  }

  get ownCurrentTimeMs(): number {
    const place = timeTree.find(this);
    return place === null ? 0 : timeTree.ownMs(place);
  }

  get startTimeWithinParentMs(): number {
    const place = timeTree.find(this);
    return place === null ? 0 : place.span.startMs - (place.parent?.span.startMs ?? 0);
  }

  get span(): Span {
    return timeTree.spanOf(this);
  }

  /** The nearest group around it. */
  get parentTimegroup(): TimedElement | null {
    const place = timeTree.nearest(this.parentNode);
    return place === null || place.node.isGroup
      ? (place?.element ?? null)
      : place.element.parentTimegroup;
  }

  /** The outermost group around it, or itself. */
  get rootTimegroup(): TimedElement | null {
    return timeTree.find(this)?.root.element ?? null;
  }

  /** How the nearest group around it treats its children; null without one. Safe in `intrinsicMs`. */
  get parentMode(): Mode | null {
    for (let at = this.parentElement; at !== null; at = at.parentElement) {
      if (at instanceof TimedElement && at.isGroup) return at.effectiveMode;
    }
    return null;
  }

  /** The mode that counts: as written, else fixed with a duration and contain without. */
  get effectiveMode(): Mode {
    return modeOf(this.describeTime([]));
  }

  /** Its length when that does not hang on its parent, else null. Safe in `intrinsicMs`. */
  ownLengthMs(): number | null {
    return ownLengthMs(this.describeTime([]));
  }

  describeTime(children: readonly TimeNode[]): TimeNode {
    const mode = this.getAttribute("mode");
    const fps = parseNumber(this.getAttribute("fps"));
    return {
      isGroup: this.isGroup,
      isMedia: this.isMedia,
      mode: mode !== null && MODES.includes(mode) ? (mode as Mode) : null,
      durationMs: this.timeMs("duration"),
      intrinsicMs: this.intrinsicMs(),
      offsetMs: this.timeMs("offset") ?? 0,
      overlapMs: this.timeMs("overlap") ?? 0,
      sourceInMs: this.timeMs("source-in"),
      sourceOutMs: this.timeMs("source-out"),
      trimStartMs: this.timeMs("trim-start"),
      trimEndMs: this.timeMs("trim-end"),
      fps: fps !== null && fps > 0 ? fps : null,
      participates: this.participates,
      isVisibleAtEnd: this.isVisibleAtEnd,
      children,
    };
  }

  /** An attribute in any of its spellings. */
  attribute(...kebabNames: string[]): string | null {
    for (const name of kebabNames.flatMap(spellings)) {
      const value = this.getAttribute(name);
      if (value !== null) return value;
    }
    return null;
  }

  /** Attributes that are times, in all their spellings. */
  get timeNames(): readonly string[] {
    return TIME_NAMES;
  }

  /** Which of its times cannot be read, or "": a film of another length would surprise. */
  unreadableTime(): string {
    for (const name of this.timeNames) {
      const value = this.getAttribute(name);
      if (value === null || value.trim() === "" || parseTimeMs(value) !== null) continue;
      const shortened = value.length > 60 ? `${value.slice(0, 57)}...` : value;
      return `${selectorOf(this)}: ${name}="${shortened}" is not a time: ${TIME_FORMS}`;
    }
    return "";
  }

  /** A time attribute in any of its spellings; null when it is missing or no time. */
  timeMs(kebab: string): number | null {
    return parseTimeMs(this.attribute(kebab));
  }

  /** Take it out of the picture; its own inline display comes back with `show`. */
  hide(): void {
    // A script may have set a display meanwhile: that is what it wants when it is shown again.
    if (this.isHidden && this.style.display === "none") return;
    this.shownDisplay = this.style.display;
    this.shownPriority = this.style.getPropertyPriority("display");
    this.style.setProperty("display", "none", "important");
    this.isHidden = true;
  }

  show(): void {
    if (!this.isHidden) return;
    this.isHidden = false;
    if (this.style.display === "none") {
      this.style.setProperty("display", this.shownDisplay, this.shownPriority);
    }
  }
}

/** The one tree of the document's times. */
export const timeTree = new TimeTree<TimedElement>();

/** Let each property stand for an attribute, as frameworks set one or the other. */
export function reflect(prototype: HTMLElement, names: Record<string, string>): void {
  for (const [property, attribute] of Object.entries(names)) {
    if (property in prototype) continue;
    Object.defineProperty(prototype, property, {
      configurable: true,
      enumerable: true,
      get(this: HTMLElement) {
        return this.getAttribute(attribute);
      },
      set(this: HTMLElement, value: unknown) {
        if (value === null || value === undefined || value === false)
          this.removeAttribute(attribute);
        else this.setAttribute(attribute, value === true ? "" : String(value));
      },
    });
  }
}

reflect(TimedElement.prototype, {
  duration: "duration",
  offset: "offset",
  mode: "mode",
  overlap: "overlap",
  fps: "fps",
  sourceIn: "sourcein",
  sourceOut: "sourceout",
  trimStart: "trimstart",
  trimEnd: "trimend",
});
