/**
 * Runs the scripts of a page once through all frames, without drawing any; from then on the page
 * is put at any frame by repeating what they changed. They never run again.
 */

import { frameTimeMs, type FrameRate } from "../clock.ts";
import { asyncWork } from "../elements/timegroup.ts";
import { TimedElement, timeTree } from "../elements/timed.ts";
import { onlyNoteFrames } from "../frame_canvas.ts";
import { selectorOf } from "../selector.ts";
import { isPlacing } from "./effects.ts";
import { drawnAncestors, drawnElements } from "./flat_tree.ts";
import { countUpTo } from "./frame_values.ts";
import { nativeObserve } from "./motion_listeners.ts";
import { ScriptChanges, type Styled } from "./script_changes.ts";
import { Seeker, type Driven } from "./seeker.ts";
import { rulesOf } from "./style_rules.ts";
import { watchUnseenChanges } from "./unseen_changes.ts";

/** Of these the order of painting depends, or what moves by itself. */
const BARRED =
  /^(?:z-index|position|float|overflow|contain|isolation|mix-blend|backdrop|perspective|transform-style|content-visibility|container|animation|transition|order$)/u;
const GROUPING = /^(?:filter|mask)/u;
/** Of one element to which others are added. */
const MAX_LOOKS = 40;
const SIBLINGS = /[~+]|:has\(/u;

/** Runs what scripts wait for a frame to do, at an instant of the film. */
export type RunCallbacks = (exactMs: number) => void;

export class ScriptRecording {
  /** Puts the page at any frame, once all are recorded. */
  readonly seeker: Seeker;
  /** Elements that scripts move, fade or hide. */
  readonly movers = new Set<HTMLElement>();
  /** Elements that look different by scripts, and the frames in which they change. */
  readonly parts = new Map<Element, readonly number[]>();
  /** Elements in which scripts add or remove others: all that is in them is one picture. */
  readonly wholes = new Set<Element>();
  /** Elements that scripts give a filter or mask. */
  readonly grouped = new Set<Element>();
  /** Frames in which elements may appear, or have other rules. */
  readonly boundaries = new Set<number>();
  /** Whether rules may give elements another place in the order of painting. */
  changesRules = false;
  private readonly driver: Driven;
  private readonly rate: FrameRate;
  private readonly runCallbacks: RunCallbacks;
  private readonly changes = new ScriptChanges();
  private isOwn = false;
  private hasBegun = false;

  constructor(driver: Driven, rate: FrameRate, runCallbacks: RunCallbacks) {
    this.driver = driver;
    this.rate = rate;
    this.runCallbacks = runCallbacks;
    this.seeker = new Seeker(driver, rate);
  }

  get obstacles(): ReadonlySet<string> {
    return this.changes.obstacles;
  }

  /** Do what scripts do in a frame; timers up to it have run. */
  run(frame: number): void {
    if (!this.hasBegun) this.begin();
    this.changes.keep(frame);
    this.isOwn = true;
    this.seeker.seek(frame);
    this.changes.skip();
    this.isOwn = false;
    this.runCallbacks(frameTimeMs(frame, this.rate));
  }

  /** Keep what the frame has changed; returns false if its scripts still wait for something. */
  close(frame: number): boolean {
    if (asyncWork.pending().length > 0) return false;
    this.changes.keep(frame);
    return true;
  }

  /** The last frame is closed: sort what has changed. */
  finish(): void {
    this.changes.end();
    this.driver.aroundTasks = () => false;
    this.seeker.changes = this.changes;
    this.isOwn = true;
    this.findWholes();
    this.sortStyles();
    this.sortAttributes();
    for (const { parent, values } of this.changes.texts.values()) {
      this.addPart(parent, values.frames);
    }
    for (const [element, { frames }] of this.changes.children) this.addPart(element, frames);
  }

  /** Whether scripts add or remove elements around it. */
  isInsideWhole(element: Element): boolean {
    if (this.wholes.size === 0) return false;
    return [...drawnAncestors(element)].slice(1).some((each) => this.wholes.has(each));
  }

  private findWholes(): void {
    for (const [element, values] of this.changes.children) {
      const changed = [-1, ...values.frames].flatMap((frame) => values.at(frame));
      if (!changed.some((node) => node instanceof Element)) continue;
      const whole = partOf(element);
      if (whole === document.documentElement) {
        this.changes.obstacles.add("a script adds elements to the body");
      }
      if (!(whole instanceof SVGElement)) this.wholes.add(whole);
      const step = Math.ceil(values.frames.length / MAX_LOOKS);
      for (const frame of values.frames.filter((_, at) => at % step === 0)) {
        this.boundaries.add(frame);
      }
    }
  }

  /** What a part shows in a frame: the same number is the same picture. */
  versionOf(part: Element, frame: number): number {
    return countUpTo(this.parts.get(part) ?? [], frame);
  }

  private begin(): void {
    this.hasBegun = true;
    onlyNoteFrames();
    watchUnseenChanges((what) => {
      if (!this.isOwn) this.changes.obstacles.add(`a script uses ${what}`);
    });
    for (const element of drawnElements(document.documentElement)) {
      if (element.shadowRoot !== null && !element.localName.startsWith("ef-")) {
        this.changes.obstacles.add(`${selectorOf(element)}: a shadow tree`);
      }
    }
    this.driver.aroundTasks = (run) => {
      this.changes.skip();
      this.isOwn = false;
      const hasRun = run();
      this.isOwn = true;
      if (hasRun) this.changes.keep(this.frameNow());
      return hasRun;
    };
    this.changes.begin(nativeObserve);
  }

  private frameNow(): number {
    return Math.round((timeTree.nowMs * this.rate.numerator) / (1000 * this.rate.denominator));
  }

  private sortStyles(): void {
    for (const [element, names] of this.changes.styles) {
      for (const [name, { frames }] of names) {
        if (frames.length === 0) continue;
        if (BARRED.test(name)) this.refuse(element, `a script sets its ${name}`);
        if (GROUPING.test(name)) this.grouped.add(element);
        if (name === "display") {
          if (element instanceof TimedElement) this.refuse(element, "a script sets its display");
          for (const frame of frames) this.boundaries.add(frame);
        }
        const isMover = isPlacing(name) && element instanceof HTMLElement;
        if (isMover && this.wholeAround(element) === null) this.movers.add(element);
        else if (name !== "will-change") this.addPart(element, frames);
      }
    }
  }

  private sortAttributes(): void {
    for (const [element, names] of this.changes.attributes) {
      for (const { frames } of names.values()) {
        if (frames.length === 0) continue;
        this.addPart(element, frames);
        if (element instanceof SVGElement) continue;
        this.changesRules = true;
        for (const frame of frames) this.boundaries.add(frame);
      }
    }
    const hasSiblings = (rule: CSSRule): boolean =>
      rule instanceof CSSStyleRule && SIBLINGS.test(rule.selectorText.replace(/\([^)]*\+/gu, ""));
    if (this.changesRules && [...rulesOf(document)].some(hasSiblings)) {
      this.changes.obstacles.add("scripts change attributes, and rules look at siblings");
    }
  }

  private addPart(changed: Element, frames: readonly number[]): void {
    const isInHead = this.chainOf(changed).some((each) => each === document.head);
    if (frames.length === 0 || isInHead) return;
    const part = this.wholeAround(changed) ?? partOf(changed);
    const all = new Set([...(this.parts.get(part) ?? []), ...frames]);
    this.parts.set(
      part,
      [...all].sort((one, other) => one - other),
    );
  }

  private chainOf(changed: Element): readonly Element[] {
    return this.changes.chains.get(changed) ?? [...drawnAncestors(changed)];
  }

  /** The outermost element, or the one itself, in which scripts add or remove others. */
  private wholeAround(changed: Element): Element | null {
    return (
      this.chainOf(changed)
        .filter((each) => this.wholes.has(each))
        .at(-1) ?? null
    );
  }

  private refuse(element: Styled, what: string): void {
    this.changes.obstacles.add(`${selectorOf(element)}: ${what}`);
  }
}

/** The element that is drawn as a whole; the background of the body is that of the page. */
function partOf(changed: Element): Element {
  if (changed === document.body) return document.documentElement;
  const drawings = [...drawnAncestors(changed)].filter((each) => each instanceof SVGSVGElement);
  return drawings.at(-1) ?? changed;
}
