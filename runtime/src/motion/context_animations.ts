/**
 * Elements that are stacking contexts because they are animated, and those that cease to be.
 *
 * Chromium makes a context of what has an animation of these properties from its first frame on. One
 * of the page's own that ends without a fill makes none any more: its element may then lie below
 * others. Animations in timed elements are paused, and so never end.
 */

import { timeTree } from "../elements/timed.ts";
import { selectorOf } from "../selector.ts";
import type { Box } from "./boxes.ts";
import { effectsOf } from "./effects.ts";
import { drawnAncestors, isShown } from "./flat_tree.ts";
import { areEqual, type ElementFacts, type Found } from "./layer_finder.ts";
import { stackingOf } from "./stacking.ts";

export class ContextAnimations {
  /** Elements that are contexts as long as their animations have not ended. */
  readonly contexts = new Set<Element>();
  private readonly ending = new Set<Element>();
  private readonly lasting = new Set<Element>();
  private readonly filmMs: number;

  constructor(filmMs: number) {
    this.filmMs = filmMs;
  }

  note(animation: Animation): void {
    const { effect } = animation;
    if (!(effect instanceof KeyframeEffect) || effect.target === null) return;
    if (effect.pseudoElement !== null) return;
    const { makesContext, holdsContext } = effectsOf(effect.getKeyframes());
    if (!makesContext) return;
    const { target } = effect;
    this.contexts.add(target);
    const { fill, endTime } = effect.getComputedTiming();
    const isFilled = fill === "forwards" || fill === "both";
    const isOurs = timeTree.nearest(target) !== null;
    const lasts = isFilled || isOurs || Number(endTime ?? 0) >= this.filmMs;
    if (holdsContext && lasts) this.lasting.add(target);
    else this.ending.add(target);
  }

  /** Elements that are no contexts at the present time, which is that of the last frame. */
  lost(): Element[] {
    return [...this.ending].filter(
      (each) =>
        !this.lasting.has(each) &&
        (!isShown(each) || !stackingOf(each, getComputedStyle(each)).isContext),
    );
  }
}

/** Which of the elements that may overlap are painted in another order at some time, or "". */
export function findCrossing(
  { layers, movers, lost, otherOrders }: Found,
  facts: ReadonlyMap<Element, ElementFacts>,
  inks: ReadonlyMap<Element, Box>,
): string {
  if (otherOrders.length === 0) return "";
  const others = new Set<Element>(movers.filter((each) => !lost.includes(each)));
  const painted = layers.flatMap(({ elements, parts }) =>
    elements.map((element) => ({
      element,
      box: around(inks.get(element) ?? [0, 0, 0, 0], facts.get(element)),
      // What moves on its own, or changes its size, may overlap anything.
      chain: [...drawnAncestors(element)].filter((at) => others.has(at) || parts.includes(at)),
    })),
  );
  for (const order of otherOrders) {
    const place = new Map(order.map((element, at) => [element, at]));
    const at = (element: Element): number => place.get(element) ?? 0;
    for (const [number, below] of painted.entries()) {
      for (const above of painted.slice(number + 1)) {
        if (at(below.element) < at(above.element)) continue;
        if (!areEqual(below.chain, above.chain) || meet(below.box, above.box)) {
          return `${selectorOf(below.element)}: its place in the painting changes`;
        }
      }
    }
  }
  return "";
}

function around([left, top, right, bottom]: Box, facts: ElementFacts | undefined): Box {
  const px = facts?.reachPx ?? 0;
  return [left - px, top - px, right + px, bottom + px];
}

function meet(one: Box, other: Box): boolean {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}
