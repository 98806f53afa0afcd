/**
 * A page as layers: what may be drawn once, where it is in each frame, and how to draw it alone.
 *
 * Works on a page that is never filmed: it is put at any time and styles are set over its own.
 */

import type { FrameRate } from "../clock.ts";
import { timeTree } from "../elements/timed.ts";
import { FrameCanvas, onlyNoteFrames } from "../frame_canvas.ts";
import { selectorOf } from "../selector.ts";
import {
  about,
  IDENTITY,
  multiply,
  parseRotate,
  parseScale,
  parseTransform,
  parseTranslate,
} from "./affine.ts";
import { baselineOf } from "./baseline.ts";
import { areSame, boxOf, innerBox, inkBox, isInside, unionOf, type Box } from "./boxes.ts";
import { parseClipPath } from "./clip_path.ts";
import { describeElement } from "./element_facts.ts";
import { drawnElements, drawnParent, isShown } from "./flat_tree.ts";
import { describeFootage, footageMs, type FootageReport } from "./footage.ts";
import { HeldStyles } from "./held_styles.ts";
import { findLayers, type ElementFacts, type FoundLayer } from "./layer_finder.ts";
import type { MotionListeners } from "./motion_listeners.ts";
import { animationObstacles, elementObstacles, pageObstacles } from "./obstacles.ts";
import { Seeker, type Driven } from "./seeker.ts";

interface ClipReport {
  readonly box: Box;
  readonly depth: number;
  readonly radiusPx: number;
}

export interface LayerReport {
  readonly chain: readonly number[];
  readonly clips: readonly ClipReport[];
  /** Around its elements and texts, where nothing has moved. */
  readonly box: Box;
  /** How far shadows and glyphs may reach beyond it. */
  readonly reachPx: number;
  /** Of its first text, if it has nothing but text: Chromium puts it on a whole row of pixels. */
  readonly baseline: number | null;
  /** A frame in which all of it is there. */
  readonly frame: number;
  /** The video that is all of it, if it is one. */
  readonly footage: FootageReport | null;
}

/** Of consecutive frames. */
export interface Samples {
  /**
   * For each frame and mover: whether it is seen, its opacity, the matrix around its origin, and the
   * box of its clip path where nothing has moved, with its radius: -1 if there is none.
   */
  readonly movers: readonly number[];
  /** For each frame and layer with a video: when in its source, in milliseconds. */
  readonly footage: readonly number[];
}

export interface PageReport {
  /** All reasons to film the page; none if it can be composed. */
  readonly obstacles: readonly string[];
  readonly movers: number;
  readonly layers: readonly LayerReport[];
}

/** Where the page is drawn: enlarged, then moved. */
export interface PosePlace {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const MAX_BOUNDARIES = 300;
const MAX_LAYERS = 150;
const MAX_ELEMENTS = 4000;
const MAX_OBSTACLES = 20;
const NEUTRAL = {
  ...{ transition: "none", transform: "none", translate: "none", rotate: "none", scale: "none" },
  ...{ opacity: "1", visibility: "visible", "clip-path": "none" },
};

const NO_CLIP = [0, 0, 0, 0, -1];
const HIDDEN: readonly number[] = [0, 0, ...IDENTITY, ...NO_CLIP];

export class PageLayers {
  private readonly driver: Driven;
  private readonly listeners: MotionListeners;
  private readonly requestFrame: (callback: FrameRequestCallback) => number;
  private readonly facts = new Map<Element, ElementFacts>();
  private readonly rests = new Map<Element, Box>();
  private readonly baselines = new Map<Element, number | null>();
  private readonly posed = new HeldStyles();
  private readonly footage = new Map<FoundLayer, FootageReport>();
  private seeker: Seeker | null = null;
  private movers: readonly HTMLElement[] = [];
  private layers: readonly FoundLayer[] = [];
  private hasDrawnPose = false;

  constructor(
    driver: Driven,
    listeners: MotionListeners,
    requestFrame: (callback: FrameRequestCallback) => number,
  ) {
    this.driver = driver;
    this.listeners = listeners;
    this.requestFrame = requestFrame;
  }

  analyze(rate: FrameRate, count: number): PageReport {
    onlyNoteFrames();
    const boundaries = boundaryFrames(rate, count);
    const refused = (...obstacles: string[]): PageReport => {
      return { obstacles, movers: 0, layers: [] };
    };
    if (boundaries.length > MAX_BOUNDARIES) return refused("too many times of change");
    this.seeker = new Seeker(this.driver, rate);
    const visited = this.visit(boundaries);
    if (this.listeners.hasAny()) visited.obstacles.add("a script waits for motion");
    const found = findLayers(this.facts, visited.moved, visited.timed);
    for (const obstacle of found.obstacles) visited.obstacles.add(obstacle);
    if (found.layers.length > MAX_LAYERS) visited.obstacles.add("too many layers");
    if (visited.obstacles.size > 0) return refused(...visited.obstacles);
    this.movers = found.movers;
    this.layers = found.layers;
    const shifted = this.measure(boundaries);
    if (shifted !== "") return refused(shifted);
    const unplaced = this.readFootage();
    if (unplaced.length > 0) return refused(...unplaced);
    return {
      obstacles: [],
      movers: this.movers.length,
      layers: this.layers.map((layer) => this.report(layer, visited.shownAt)),
    };
  }

  /** What is known of frames without drawing them, or why it is not. */
  sample(first: number, count: number): Samples | string {
    const movers: number[] = [];
    const footage: number[] = [];
    this.posed.release();
    for (let frame = first; frame < first + count; frame += 1) {
      this.seeker?.seek(frame);
      for (const mover of this.movers) {
        const state = this.stateOf(mover);
        if (typeof state === "string") return state;
        movers.push(...state);
      }
      for (const [layer, { source }] of this.footage) {
        const ms = footageMs(layer.elements[0] as Element, source);
        if (ms === null) return "the source of a video changes";
        footage.push(ms);
      }
    }
    return { movers, footage };
  }

  /** Show only these layers, where nothing has moved; returns why that is impossible, or "". */
  pose(wanted: readonly number[], frame: number, place: PosePlace): string {
    this.posed.release();
    this.seeker?.seek(frame);
    this.neutralize(this.posed);
    const layers = wanted.flatMap((number) => this.layers[number] ?? []);
    const members = new Set(layers.flatMap(({ elements }) => elements));
    for (const { element } of layers.flatMap(({ clips }) => clips)) openClip(element, this.posed);
    const present = [...this.facts.keys()].filter(isShown);
    const seen = new Map(present.map((each) => [each, getComputedStyle(each).visibility]));
    for (const [element, visibility] of seen) {
      this.posed.set(element, "transition", "none");
      const value = members.has(boxAround(element)) ? visibility : "hidden";
      this.posed.set(element, "visibility", value);
    }
    if (!members.has(document.documentElement)) {
      for (const each of [document.documentElement, document.body]) {
        this.posed.set(each, "background", "none");
      }
    }
    if (place.x !== 0 || place.y !== 0 || place.scale !== 1) movePage(place, this.posed);
    this.hasDrawnPose = false;
    this.requestFrame(() => {
      this.hasDrawnPose = true;
    });
    const isSame = [...members].every((each) => {
      const rest = this.rests.get(each);
      if (each === document.documentElement || rest === undefined) return true;
      return areSame(placed(rest, place), boxOf(each));
    });
    return isSame ? "" : "a layer cannot be drawn on its own";
  }

  hasPosed(): boolean {
    return this.hasDrawnPose;
  }

  /** Look at every frame at which something appears: what hides has no styles to read. */
  private visit(boundaries: readonly number[]) {
    const moved = new Set<HTMLElement>();
    const timed = new Set<HTMLElement>();
    const shownAt = new Map<Element, number>();
    const obstacles = new Set(pageObstacles());
    for (const frame of boundaries) {
      this.seeker?.seek(frame);
      for (const element of drawnElements(document.documentElement)) {
        if (!isShown(element) || shownAt.has(element)) continue;
        shownAt.set(element, frame);
        const style = getComputedStyle(element);
        if (FrameCanvas.of(element) !== undefined) timed.add(element as HTMLCanvasElement);
        for (const each of elementObstacles(element, style)) obstacles.add(each);
        this.facts.set(element, describeElement(element, style));
      }
      if (this.facts.size > MAX_ELEMENTS) obstacles.add("too many elements");
      for (const animation of document.getAnimations()) {
        for (const each of animationObstacles(animation)) obstacles.add(each);
        const { effect } = animation;
        const target = effect instanceof KeyframeEffect ? effect.target : null;
        if (target instanceof HTMLElement && isShown(target)) moved.add(target);
      }
      for (const { element } of timeTree.all()) if (!isShown(element)) timed.add(element);
      if (obstacles.size >= MAX_OBSTACLES) break;
    }
    for (const element of timed) if (!this.facts.has(element)) timed.delete(element);
    return { obstacles, moved, timed, shownAt };
  }

  /** Measure everything where nothing has moved; returns what lies elsewhere at another time. */
  private measure(boundaries: readonly number[]): string {
    const neutral = new HeldStyles();
    this.neutralize(neutral);
    let moved = "";
    for (const frame of boundaries) {
      this.seeker?.seek(frame);
      for (const element of this.facts.keys()) {
        if (!isShown(element)) continue;
        const box = boxOf(element);
        const before = this.rests.get(element);
        if (before === undefined) {
          this.rests.set(element, box);
          if (this.facts.get(element)?.isText) this.baselines.set(element, baselineOf(element));
        } else if (!areSame(before, box))
          moved ||= `${element.localName}: its place in the layout changes`;
      }
    }
    neutral.release();
    return moved;
  }

  private neutralize(styles: HeldStyles): void {
    for (const mover of this.movers) {
      for (const [name, value] of Object.entries(NEUTRAL)) styles.set(mover, name, value);
    }
  }

  private report(layer: FoundLayer, shownAt: ReadonlyMap<Element, number>): LayerReport {
    const rest = (element: Element): Box => this.rests.get(element) ?? [0, 0, 0, 0];
    const boxes = layer.elements.map((element) => inkBox(element, rest(element)));
    const view: Box = [0, 0, innerWidth, innerHeight];
    return {
      chain: layer.chain,
      box: boxes.reduce(unionOf),
      reachPx: Math.max(...layer.elements.map((each) => this.facts.get(each)?.reachPx ?? 0)),
      baseline: layer.elements.every((each) => this.facts.get(each)?.isText)
        ? (this.baselines.get(layer.elements[0] as Element) ?? null)
        : null,
      frame: Math.max(...layer.elements.map((element) => shownAt.get(element) ?? 0)),
      clips: layer.clips
        .map(({ element, depth }) => ({
          box: innerBox(element, rest(element)),
          depth,
          radiusPx: this.facts.get(element)?.radiusPx ?? 0,
        }))
        .filter(({ box, depth, radiusPx }) => depth > 0 || radiusPx > 0 || !isInside(view, box)),
      footage: this.footage.get(layer) ?? null,
    };
  }

  /** Videos that can be placed; returns why others cannot. */
  private readFootage(): string[] {
    const obstacles: string[] = [];
    for (const layer of this.layers) {
      const [element] = layer.elements;
      if (element === undefined || FrameCanvas.of(element) === undefined) continue;
      const found = describeFootage(element, this.rests.get(element) ?? [0, 0, 0, 0]);
      if (typeof found === "string") obstacles.push(`${selectorOf(element)}: ${found}`);
      else if (found !== null) this.footage.set(layer, found);
    }
    return obstacles;
  }

  private stateOf(mover: HTMLElement): readonly number[] | string {
    const style = getComputedStyle(mover);
    if (!isShown(mover) || style.visibility !== "visible") return HIDDEN;
    const rest = this.rests.get(mover) ?? [0, 0, 0, 0];
    const [left, top, right, bottom] = rest;
    const clip = parseClipPath(style.clipPath, rest);
    if (clip === undefined) return "a clip-path of another shape";
    const parts = [
      parseTranslate(style.translate, right - left, bottom - top),
      parseRotate(style.rotate),
      parseScale(style.scale),
      parseTransform(style.transform),
    ];
    const [x = 0, y = 0] = style.transformOrigin.split(" ").map(Number.parseFloat);
    const [translate, rotate, scale, transform] = parts;
    if (!translate || !rotate || !scale || !transform) return "a transform in space";
    const own = multiply(multiply(translate, rotate), multiply(scale, transform));
    const cut = clip === null ? NO_CLIP : [...clip.box, clip.radiusPx];
    return [1, Number(style.opacity), ...about(own, left + x, top + y), ...cut];
  }
}

/** The first and last frame, and those around the start and end of each timed element. */
function boundaryFrames(rate: FrameRate, count: number): number[] {
  const frames = new Set([0, count - 1]);
  const frameAt = (ms: number): number =>
    Math.ceil((ms * rate.numerator) / (1000 * rate.denominator) - 1e-6);
  for (const { span } of timeTree.all()) {
    for (const ms of [span.startMs, span.endMs]) {
      for (const near of [-1, 0, 1]) {
        const frame = frameAt(ms) + near;
        if (frame > 0 && frame < count) frames.add(frame);
      }
    }
  }
  return [...frames].sort((one, other) => one - other);
}

/** The element, or the one in whose box its text is: a slot passes styles on, but has no box. */
function boxAround(element: Element): Element {
  const { display } = getComputedStyle(element);
  const parent = display === "contents" ? drawnParent(element) : null;
  return parent === null ? element : boxAround(parent);
}

function movePage({ x, y, scale }: PosePlace, styles: HeldStyles): void {
  const root = document.documentElement;
  for (const each of [root, document.body]) styles.set(each, "overflow", "visible");
  styles.set(root, "transform-origin", "0 0");
  styles.set(root, "transform", `translate(${x}px, ${y}px) scale(${scale})`);
}

function placed([left, top, right, bottom]: Box, { x, y, scale }: PosePlace): Box {
  return [left * scale + x, top * scale + y, right * scale + x, bottom * scale + y];
}

/** Let what is inside be seen where it is cut off, without another layout. */
function openClip(element: Element, styles: HeldStyles): void {
  const { display } = getComputedStyle(element);
  styles.set(element, "transition", "none");
  if (display === "block") styles.set(element, "display", "flow-root");
  styles.set(element, "min-width", "0");
  styles.set(element, "min-height", "0");
  styles.set(element, "overflow", "visible");
}
