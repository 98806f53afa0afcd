/**
 * Finds the layers of a page: what moves as one piece, in the order of painting.
 *
 * A mover is an element whose animations move, fade or hide it, or that has its own time. Each layer
 * holds elements with the same movers around them, and the same parts that are drawn anew.
 */

import { selectorOf } from "../selector.ts";
import { drawnAncestors, drawnChildren } from "./flat_tree.ts";
import { paintOrder, type PaintNode } from "./paint_order.ts";
import { isClippedBy, type Stacking } from "./stacking.ts";

export interface ElementFacts extends Stacking {
  readonly paints: boolean;
  /** Whether it paints nothing but text. */
  readonly isText: boolean;
  /** Whether it draws anything but text. */
  readonly hasBox: boolean;
  /** Whether it draws text or edges, which Chromium draws anew in each size. */
  readonly hasEdges: boolean;
  /** Whether it draws text or lines, which Chromium draws anew in each place between pixels. */
  readonly hasGlyphs: boolean;
  /** Whether only what is in it has a box. */
  readonly isBoxless: boolean;
  /** How far its shadows and glyphs may reach beyond its box. */
  readonly reachPx: number;
  /** Why nothing inside may move on its own, or "". */
  readonly groups: string;
  readonly clips: boolean;
  /** Of its corners, if it clips; null if they are not the same. */
  readonly radiusPx: number | null;
  /** Whether it fades, transforms or clips all that is in it, although it never changes. */
  readonly isPlaced: boolean;
}

export interface Clip {
  readonly element: Element;
  /** How many of the layer's movers move the clip, too. */
  readonly depth: number;
}

export interface FoundLayer {
  /** Indexes of movers, outermost first. */
  readonly chain: readonly number[];
  readonly elements: Element[];
  /** The parts of the page in which it is that draw another picture at another time. */
  readonly parts: readonly Element[];
  readonly clips: readonly Clip[];
}

export interface Found {
  readonly obstacles: readonly string[];
  readonly movers: readonly HTMLElement[];
  readonly layers: readonly FoundLayer[];
  /** Elements that are no stacking contexts any more once their animations have ended. */
  readonly lost: readonly Element[];
  /** All elements as they are painted when some of these, or all, have ended. */
  readonly otherOrders: readonly (readonly Element[])[];
}

export interface Grouping {
  /** Elements that are stacking contexts because they are animated. */
  readonly contexts: ReadonlySet<Element>;
  readonly lost: readonly Element[];
  /** The parts that are drawn anew in which an element is. */
  readonly partsAround: (element: Element) => readonly Element[];
  /** Whether an element is drawn with all that is in it, whatever that is. */
  readonly isWhole: (element: Element) => boolean;
}

export function findLayers(
  facts: ReadonlyMap<Element, ElementFacts>,
  moved: ReadonlySet<HTMLElement>,
  timed: ReadonlySet<HTMLElement>,
  { contexts, lost, partsAround, isWhole }: Grouping,
): Found {
  const movers = [...withPlacedAround(facts, new Set([...moved, ...timed]))];
  const index = new Map(movers.map((element, number) => [element as Element, number]));
  const chainOf = (element: Element): number[] =>
    [...drawnAncestors(element)].flatMap((each) => index.get(each) ?? []).reverse();
  const grouping = [...index.keys()].flatMap((mover) => groupObstacles(mover, facts));

  const nodeOf = (element: Element, ended: readonly Element[] = []): PaintNode<Element> => {
    const own = facts.get(element) as ElementFacts;
    const isOne = element instanceof SVGElement || isWhole(element);
    const children = isOne ? [] : drawnChildren(element);
    return {
      value: element,
      isContext: (own.isContext || contexts.has(element)) && !ended.includes(element),
      isPositioned: own.isPositioned,
      zIndex: own.zIndex,
      children: children.filter((child) => facts.has(child)).map((child) => nodeOf(child, ended)),
    };
  };
  const layers: FoundLayer[] = [];
  for (const element of paintOrder(nodeOf(document.documentElement)).flat()) {
    const isRoot = element === document.documentElement;
    const own = facts.get(element) as ElementFacts;
    const parts = partsAround(element);
    // What is drawn anew may show something later.
    if (!isRoot && !own.paints && (parts.length === 0 || own.isBoxless)) continue;
    const chain = chainOf(element);
    const last = layers.at(-1);
    if (last !== undefined && areEqual(last.chain, chain) && areEqual(last.parts, parts)) {
      last.elements.push(element);
    } else layers.push({ chain, elements: [element], parts, clips: [] });
  }
  const clipped = layers.map((layer) => ({ ...layer, clips: clipsOf(layer, movers, facts) }));
  const round = clipped
    .flatMap(({ clips }) => clips)
    .filter(({ element }) => facts.get(element)?.radiusPx === null)
    .map(({ element }) => `${selectorOf(element)}: a clip with uneven corners`);
  const ends = lost.length > 1 ? [...lost.map((each) => [each]), [...lost]] : lost.map((e) => [e]);
  const otherOrders = ends.map((ended) =>
    paintOrder(nodeOf(document.documentElement, ended)).flat(),
  );
  return { obstacles: [...grouping, ...round], movers, layers: clipped, lost, otherOrders };
}

export function areEqual<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((each, i) => each === other[i]);
}

/** Elements around a mover that fade or transform it, too: their effect comes on top. */
function withPlacedAround(
  facts: ReadonlyMap<Element, ElementFacts>,
  movers: ReadonlySet<HTMLElement>,
): Set<HTMLElement> {
  const all = new Set(movers);
  for (const mover of movers) {
    for (const around of drawnAncestors(mover)) {
      if (facts.get(around)?.isPlaced && around instanceof HTMLElement) all.add(around);
    }
  }
  return all;
}

function groupObstacles(mover: Element, facts: ReadonlyMap<Element, ElementFacts>): string[] {
  if (mover === document.body || mover === document.documentElement) {
    return ["the page as a whole moves"];
  }
  return [...drawnAncestors(mover)].slice(1).flatMap((around) => {
    const groups = facts.get(around)?.groups ?? "";
    return groups === "" ? [] : [`${selectorOf(around)}: ${groups} around what moves`];
  });
}

/** The clips that stay where they are while a mover inside them moves. */
function clipsOf(
  layer: FoundLayer,
  movers: readonly HTMLElement[],
  facts: ReadonlyMap<Element, ElementFacts>,
): Clip[] {
  const chain = layer.chain.map((number) => movers[number] as Element);
  const innermost = chain.at(-1);
  if (innermost === undefined) return [];
  const clips: Clip[] = [];
  for (const around of [...drawnAncestors(innermost)].slice(1)) {
    if (around === document.body || around === document.documentElement) continue;
    if (!facts.get(around)?.clips) continue;
    const around_ = new Set(drawnAncestors(around));
    const depth = chain.filter((mover) => around_.has(mover)).length;
    const inside = chain[depth] as Element;
    if (isClippedBy(inside, around)) clips.push({ element: around, depth });
  }
  return clips;
}
