/** Shows some layers of a page alone, as if nothing had moved, to draw them. */

import { areSame, boxOf, type Box } from "./boxes.ts";
import { drawnParent } from "./flat_tree.ts";
import { HeldStyles } from "./held_styles.ts";
import type { ElementFacts, Found, FoundLayer } from "./layer_finder.ts";
import type { Seeker } from "./seeker.ts";

/** Where the page is drawn: enlarged, then moved. */
export interface PosePlace {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const NEUTRAL = {
  ...{ transition: "none", transform: "none", translate: "none", rotate: "none", scale: "none" },
  ...{ opacity: "1", visibility: "visible", "clip-path": "none" },
};

export class LayerPose {
  private readonly facts: ReadonlyMap<Element, ElementFacts>;
  private readonly rests: ReadonlyMap<Element, Box>;
  private readonly requestFrame: (callback: FrameRequestCallback) => number;
  private readonly styles = new HeldStyles();
  private seeker: Seeker | null = null;
  private movers: readonly HTMLElement[] = [];
  private layers: readonly FoundLayer[] = [];
  private isDrawn = false;
  /** The pose that is held, as text; "" for none. */
  private heldPose = "";
  private posesRoot = false;

  constructor(
    facts: ReadonlyMap<Element, ElementFacts>,
    rests: ReadonlyMap<Element, Box>,
    requestFrame: (callback: FrameRequestCallback) => number,
  ) {
    this.facts = facts;
    this.rests = rests;
    this.requestFrame = requestFrame;
  }

  use(seeker: Seeker, { movers, layers }: Found): void {
    this.seeker = seeker;
    this.movers = movers;
    this.layers = layers;
  }

  /** Show only these layers, where nothing has moved; returns why that is impossible, or "". */
  hold(wanted: readonly number[], frame: number, place: PosePlace): string {
    const layers = wanted.flatMap((number) => this.layers[number] ?? []);
    const members = new Set(layers.flatMap(({ elements }) => elements));
    const isRedrawn = layers.every(({ parts }) => parts.length > 0);
    const pose = JSON.stringify([wanted, place]);
    if (isRedrawn && pose === this.heldPose && !hidesDrawings()) {
      this.seeker?.seek(frame);
      this.paintBehind("none");
    } else {
      this.release();
      this.seeker?.seek(frame);
      this.setStyles(layers, members, place);
      this.heldPose = pose;
    }
    this.awaitDrawing();
    if (isRedrawn) return "";
    const isSame = [...members].every((each) => {
      const rest = this.rests.get(each);
      if (each === document.documentElement || rest === undefined) return true;
      return areSame(placed(rest, place), boxOf(each));
    });
    return isSame ? "" : "a layer cannot be drawn on its own";
  }

  private setStyles(
    layers: readonly FoundLayer[],
    members: ReadonlySet<Element>,
    place: PosePlace,
  ): void {
    neutralize(this.movers, this.styles);
    for (const { element } of layers.flatMap(({ clips }) => clips)) openClip(element, this.styles);
    // What is not there now may be later, while the pose is held.
    const seen = [...this.facts.keys()]
      .filter((each) => !isPartOfDrawing(each))
      .map((each) => [each, getComputedStyle(each).visibility] as const);
    for (const [element, visibility] of seen) {
      this.styles.set(element, "transition", "none");
      const value = members.has(boxAround(element)) ? visibility : "hidden";
      this.styles.set(element, "visibility", value);
    }
    this.posesRoot = members.has(document.documentElement);
    if (!this.posesRoot) {
      for (const each of [document.documentElement, document.body]) {
        this.styles.set(each, "background", "none");
      }
    }
    if (place.x !== 0 || place.y !== 0 || place.scale !== 1) movePage(place, this.styles);
  }

  release(): void {
    this.styles.release();
    this.heldPose = "";
  }

  /** Paint what is behind the pose; returns false if the pose has the background of the page. */
  paintBehind(colour: string): boolean {
    if (this.posesRoot) return false;
    document.documentElement.style.setProperty("background", colour, "important");
    this.awaitDrawing();
    return true;
  }

  private awaitDrawing(): void {
    this.isDrawn = false;
    this.requestFrame(() => {
      this.isDrawn = true;
    });
  }

  hasDrawn(): boolean {
    return this.isDrawn;
  }
}

/** Have movers lie where nothing has moved, until the styles are released. */
export function neutralized(movers: readonly HTMLElement[]): HeldStyles {
  const styles = new HeldStyles();
  neutralize(movers, styles);
  return styles;
}

function neutralize(movers: readonly HTMLElement[], styles: HeldStyles): void {
  for (const mover of movers) {
    for (const [name, value] of Object.entries(NEUTRAL)) styles.set(mover, name, value);
  }
}

/** The element, or the one in whose box its text is: a slot passes styles on, but has no box. */
function boxAround(element: Element): Element {
  const { display } = getComputedStyle(element);
  const parent = display === "contents" ? drawnParent(element) : null;
  return parent === null ? element : boxAround(parent);
}

/** Whether an animation hides a drawing for some time: a pose holds what is seen when it begins. */
function hidesDrawings(): boolean {
  return document.getAnimations().some(({ effect }) => {
    if (!(effect instanceof KeyframeEffect) || !(effect.target instanceof SVGElement)) return false;
    return effect.getKeyframes().some((keyframe) => "visibility" in keyframe);
  });
}

/** Parts of a drawing are seen and hidden with the whole. */
function isPartOfDrawing(element: Element): boolean {
  return element instanceof SVGElement && element.ownerSVGElement !== null;
}

function movePage({ x, y, scale }: PosePlace, styles: HeldStyles): void {
  const root = document.documentElement;
  for (const each of [root, document.body]) styles.set(each, "overflow", "visible");
  // Elements at the bottom of the window are then placed in the box of the root instead.
  styles.set(root, "min-height", `${innerHeight}px`);
  const { left, top } = root.getBoundingClientRect();
  styles.set(root, "transform-origin", `${-left}px ${-top}px`);
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
