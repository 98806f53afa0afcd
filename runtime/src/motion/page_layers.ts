/**
 * A page as layers: what may be drawn once, where it is in each frame, and how to draw it alone.
 *
 * Works on a page that is never filmed: it is put at any time and styles are set over its own.
 */

import type { FrameRate } from "../clock.ts";
import { CaptionsElement } from "../elements/captions.ts";
import { timeTree } from "../elements/timed.ts";
import { FrameCanvas, onlyNoteFrames } from "../frame_canvas.ts";
import { placeRootUnscrolled } from "../root_box.ts";
import { selectorOf } from "../selector.ts";
import { baselineOf, movedBaseline } from "./baseline.ts";
import { areSame, boxOf, innerBox, isInside, unionOf, type Box } from "./boxes.ts";
import { ContextAnimations, findCrossing } from "./context_animations.ts";
import { describeElement, sharingOf } from "./element_facts.ts";
import { drawnAncestors, drawnElements, isShown } from "./flat_tree.ts";
import { describeFootage, footageMs, type FootageReport } from "./footage.ts";
import { effectsOf } from "./effects.ts";
import { inkBox } from "./ink_box.ts";
import { ContentReader, type LayerContent } from "./layer_contents.ts";
import { findLayers, type ElementFacts, type FoundLayer } from "./layer_finder.ts";
import type { MotionListeners } from "./motion_listeners.ts";
import { stateOf } from "./mover_state.ts";
import { animationObstacles, elementObstacles, pageObstacles } from "./obstacles.ts";
import { isRasterPicture } from "./raster_picture.ts";
import { redrawnBy, RedrawnParts } from "./redrawn_parts.ts";
import { LayerPose, neutralized } from "./layer_pose.ts";
import { ScriptRecording, type RunCallbacks } from "./script_recording.ts";
import { ScriptedElements } from "./scripted_elements.ts";
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
  /** The same once it is moved: Chromium puts what it transforms on whole pixels first. */
  readonly movedBaseline: number | null;
  /** A frame in which all of it is there. */
  readonly frame: number;
  /** The video that is all of it, if it is one. */
  readonly footage: FootageReport | null;
  /** Whether it is drawn anew when what it shows changes: its box and baseline are in the samples. */
  readonly isRedrawn: boolean;
  /** Whether it has text or edges, which Chromium draws anew in each size. */
  readonly hasEdges: boolean;
  /** Whether it has text or lines, which Chromium draws anew between pixels. */
  readonly hasGlyphs: boolean;
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
  /** For each frame and layer that is redrawn. */
  readonly contents: readonly LayerContent[];
}

export interface PageReport {
  /** All reasons to film the page; none if it can be composed. */
  readonly obstacles: readonly string[];
  readonly movers: number;
  readonly layers: readonly LayerReport[];
}

const MAX_BOUNDARIES = 300;
/** So many changes of captions show all of their parts. */
const MAX_CAPTIONS = 20;
const MAX_LAYERS = 150;
const MAX_ELEMENTS = 4000;
const MAX_OBSTACLES = 20;
/** For each, the order of painting is found once more and compared. */
const MAX_LOST_CONTEXTS = 20;

export class PageLayers {
  private readonly driver: Driven;
  private readonly listeners: MotionListeners;
  private readonly facts = new Map<Element, ElementFacts>();
  private readonly rests = new Map<Element, Box>();
  /** The same with what is drawn beyond the box. */
  private readonly inks = new Map<Element, Box>();
  private readonly baselines = new Map<Element, number | null>();
  private readonly footage = new Map<FoundLayer, FootageReport>();
  private readonly parts = new RedrawnParts();
  readonly pose: LayerPose;
  private seeker: Seeker | null = null;
  /** What scripts do in each frame; null if none runs. */
  private recording: ScriptRecording | null = null;
  private movers: readonly HTMLElement[] = [];
  private layers: readonly FoundLayer[] = [];

  constructor(
    driver: Driven,
    listeners: MotionListeners,
    requestFrame: (callback: FrameRequestCallback) => number,
  ) {
    this.driver = driver;
    this.listeners = listeners;
    this.pose = new LayerPose(this.facts, this.rests, requestFrame);
  }

  /** Run the scripts of the next frame. */
  record(frame: number, rate: FrameRate, runCallbacks: RunCallbacks): void {
    this.recording ??= new ScriptRecording(this.driver, rate, runCallbacks);
    this.recording.run(frame);
  }

  /** Returns false if the frame's scripts still wait for something. */
  closeFrame(frame: number): boolean {
    return this.recording?.close(frame) ?? true;
  }

  /** `rasters` are addresses of pictures that are made of pixels. */
  analyze(rate: FrameRate, count: number, rasters: ReadonlySet<string>): PageReport {
    onlyNoteFrames();
    if (this.recording === null) placeRootUnscrolled();
    this.recording?.finish();
    const boundaries = boundaryFrames(rate, count, this.recording?.boundaries ?? []);
    const refused = (...obstacles: string[]): PageReport => {
      return { obstacles, movers: 0, layers: [] };
    };
    if (boundaries.length > MAX_BOUNDARIES) return refused("too many times of change");
    this.seeker = this.recording?.seeker ?? new Seeker(this.driver, rate);
    const filmMs = (count * 1000 * rate.denominator) / rate.numerator;
    const animated = new ContextAnimations(filmMs);
    const visited = this.visit(boundaries, rasters, animated);
    if (this.listeners.hasAny()) visited.obstacles.add("a script waits for motion");
    if (this.recording !== null && this.listeners.isObserving) {
      visited.obstacles.add("a script waits for changes of the page");
    }
    const partsAround = (element: Element): Element[] => this.parts.around(element);
    const isWhole = (element: Element): boolean => this.recording?.wholes.has(element) ?? false;
    const { contexts } = animated;
    for (const each of this.recording?.movers ?? []) contexts.add(each);
    const lost = animated.lost();
    if (lost.length > MAX_LOST_CONTEXTS) return refused("too many animations that end");
    const found = findLayers(this.facts, visited.moved, visited.timed, {
      ...{ contexts, lost, partsAround, isWhole },
    });
    for (const obstacle of found.obstacles) visited.obstacles.add(obstacle);
    if (found.layers.length > MAX_LAYERS) visited.obstacles.add("too many layers");
    if (visited.obstacles.size > 0) return refused(...visited.obstacles);
    this.movers = found.movers;
    this.layers = found.layers;
    this.pose.use(this.seeker, found);
    const shifted = this.measure(boundaries) || findCrossing(found, this.facts, this.inks);
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
    this.pose.release();
    const inside = this.elementsByMover();
    const contents = this.readContents(first, count);
    if (typeof contents === "string") return contents;
    for (let frame = first; frame < first + count; frame += 1) {
      this.seeker?.seek(frame);
      for (const [mover, box] of contents.rests[frame - first] ?? []) this.rests.set(mover, box);
      for (const mover of this.movers) {
        const state = stateOf(mover, this.rests.get(mover), inside.get(mover));
        if (typeof state === "string") return state;
        movers.push(...state);
      }
      for (const [layer, { source }] of this.footage) {
        const ms = footageMs(layer.elements[0] as Element, source);
        if (ms === null) return "the source of a video changes";
        footage.push(ms);
      }
    }
    return { movers, footage, contents: contents.contents };
  }

  private elementsByMover(): Map<HTMLElement | undefined, Element[]> {
    const inside = new Map<HTMLElement | undefined, Element[]>();
    for (const { chain, elements } of this.layers) {
      const mover = this.movers[chain.at(-1) ?? -1];
      inside.set(mover, [...(inside.get(mover) ?? []), ...elements]);
    }
    return inside;
  }

  /** What layers show that are redrawn, and where their movers lie in each frame. */
  private readContents(first: number, count: number) {
    const neutral = neutralized(this.movers);
    const reader = new ContentReader(this.parts, this.layers, this.movers, {
      facts: this.facts,
      rests: this.rests,
      recording: this.recording,
    });
    try {
      return reader.read(first, count, (frame) => this.seeker?.seek(frame));
    } finally {
      neutral.release();
    }
  }

  /** Look at every frame at which something appears: what hides has no styles to read. */
  private visit(
    boundaries: readonly number[],
    rasters: ReadonlySet<string>,
    animated: ContextAnimations,
  ) {
    const moved = new Set<HTMLElement>();
    const timed = new Set<HTMLElement>();
    const shownAt = new Map<Element, number>();
    const obstacles = new Set([...pageObstacles(), ...(this.recording?.obstacles ?? [])]);
    const check = this.recording === null ? null : new ScriptedElements(this.recording);
    for (const frame of boundaries) {
      this.seeker?.seek(frame);
      for (const element of drawnElements(document.documentElement)) {
        if (!isShown(element)) continue;
        if (check !== null && this.isInsideWhole(element)) {
          for (const each of check.insideObstacles(element, this.facts)) obstacles.add(each);
          continue;
        }
        const known = this.facts.get(element);
        for (const each of check?.obstacles(element, known) ?? []) obstacles.add(each);
        if (known !== undefined) continue;
        shownAt.set(element, frame);
        const style = getComputedStyle(element);
        if (FrameCanvas.of(element) !== undefined) timed.add(element as HTMLCanvasElement);
        for (const each of elementObstacles(element, style)) obstacles.add(each);
        const isRaster = isRasterPicture(element, style, rasters);
        this.facts.set(element, describeElement(element, style, isRaster));
      }
      if (this.facts.size > MAX_ELEMENTS) obstacles.add("too many elements");
      for (const animation of document.getAnimations()) {
        for (const each of animationObstacles(animation)) obstacles.add(each);
        const target = movedBy(animation);
        if (target !== null && isShown(target)) moved.add(target);
        this.noteGrouping(animation);
        animated.note(animation);
        for (const each of check?.animationObstacles(animation, frame) ?? []) obstacles.add(each);
      }
      for (const each of this.recording?.movers ?? []) if (isShown(each)) moved.add(each);
      this.parts.visit(this.recording);
      for (const { element } of timeTree.all()) if (!isShown(element)) timed.add(element);
      if (obstacles.size >= MAX_OBSTACLES) break;
    }
    for (const element of this.recording?.grouped ?? []) this.group(element);
    for (const element of timed) if (!this.facts.has(element)) timed.delete(element);
    for (const element of this.parts.all) {
      for (const each of this.sharedObstacles(element)) obstacles.add(each);
    }
    for (const element of this.facts.keys()) {
      if (FrameCanvas.of(element) === undefined || this.parts.around(element).length === 0)
        continue;
      obstacles.add(`${selectorOf(element)}: a video in a part that is drawn anew`);
    }
    return { obstacles, moved, timed, shownAt };
  }

  /** Tables that draw something of a part themselves. */
  private sharedObstacles(part: Element): string[] {
    return [...drawnAncestors(part)].slice(1).flatMap((around) => {
      const what = this.facts.has(around) ? sharingOf(getComputedStyle(around)) : "";
      return what === "" ? [] : [`${selectorOf(around)}: ${what} around what is drawn anew`];
    });
  }

  private isInsideWhole(element: Element): boolean {
    return this.recording?.isInsideWhole(element) ?? false;
  }

  /** While it is animated, a filter makes one picture of all that is in its element. */
  private noteGrouping(animation: Animation): void {
    const part = redrawnBy(animation);
    const { effect } = animation;
    if (part === null || !(effect instanceof KeyframeEffect)) return;
    if (effectsOf(effect.getKeyframes()).groups) this.group(part);
  }

  private group(element: Element): void {
    const facts = this.facts.get(element);
    if (facts === undefined) return;
    this.facts.set(element, { ...facts, isContext: true, groups: "a filter or mask" });
  }

  /** Measure everything where nothing has moved; returns what lies elsewhere at another time. */
  private measure(boundaries: readonly number[]): string {
    const neutral = neutralized(this.movers);
    let moved = "";
    for (const frame of boundaries) {
      this.seeker?.seek(frame);
      for (const element of this.facts.keys()) {
        if (!isShown(element)) continue;
        const box = boxOf(element);
        const before = this.rests.get(element);
        if (before !== undefined && this.parts.around(element).length > 0) continue;
        if (before === undefined) {
          this.rests.set(element, box);
          this.inks.set(element, inkBox(element));
          if (this.facts.get(element)?.isText) this.baselines.set(element, baselineOf(element));
        } else if (!areSame(before, box))
          moved ||= `${element.localName}: its place in the layout changes`;
      }
    }
    neutral.release();
    return moved;
  }

  private report(layer: FoundLayer, shownAt: ReadonlyMap<Element, number>): LayerReport {
    const rest = (element: Element): Box => this.rests.get(element) ?? [0, 0, 0, 0];
    const boxes = layer.elements.map((element) => this.inks.get(element) ?? rest(element));
    const view: Box = [0, 0, innerWidth, innerHeight];
    const isText = layer.elements.every((each) => this.facts.get(each)?.isText);
    const first = this.baselines.get(layer.elements[0] as Element) ?? null;
    const baseline = isText ? first : null;
    return {
      chain: layer.chain,
      box: boxes.reduce(unionOf),
      reachPx: Math.max(...layer.elements.map((each) => this.facts.get(each)?.reachPx ?? 0)),
      baseline,
      movedBaseline: movedBaseline(baseline, this.moverBox(layer)),
      frame: Math.max(...layer.elements.map((element) => shownAt.get(element) ?? 0)),
      clips: layer.clips
        .map(({ element, depth }) => ({
          box: innerBox(element, rest(element)),
          depth,
          radiusPx: this.facts.get(element)?.radiusPx ?? 0,
        }))
        .filter(({ box, depth, radiusPx }) => depth > 0 || radiusPx > 0 || !isInside(view, box)),
      footage: this.footage.get(layer) ?? null,
      isRedrawn: layer.parts.length > 0,
      hasEdges: layer.elements.some((each) => this.facts.get(each)?.hasEdges ?? true),
      hasGlyphs: layer.elements.some((each) => this.facts.get(each)?.hasGlyphs ?? true),
    };
  }

  private moverBox(layer: FoundLayer): Box | undefined {
    const mover = this.movers[layer.chain.at(-1) ?? -1];
    return mover === undefined ? undefined : this.rests.get(mover);
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
}

/** The element that an animation moves, fades or hides as a whole. */
function movedBy({ effect }: Animation): HTMLElement | null {
  if (!(effect instanceof KeyframeEffect) || effect.pseudoElement !== null) return null;
  const isMoved = effect.target instanceof HTMLElement && effectsOf(effect.getKeyframes()).places;
  return isMoved ? (effect.target as HTMLElement) : null;
}

/** The first and last frame, those around the start and end of each timed element, and others. */
function boundaryFrames(rate: FrameRate, count: number, others: Iterable<number>): number[] {
  const frames = new Set([0, count - 1, ...others]);
  const frameAt = (ms: number): number =>
    Math.ceil((ms * rate.numerator) / (1000 * rate.denominator) - 1e-6);
  for (const { element, span } of timeTree.all()) {
    const changes = element instanceof CaptionsElement ? element.filmChangesMs() : [];
    for (const ms of [span.startMs, span.endMs, ...changes.slice(0, MAX_CAPTIONS)]) {
      for (const near of [-1, 0, 1]) {
        const frame = frameAt(ms) + near;
        if (frame > 0 && frame < count) frames.add(frame);
      }
    }
  }
  return [...frames].sort((one, other) => one - other);
}
