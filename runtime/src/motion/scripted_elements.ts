/** Elements that scripts change: what their rules may not do. */

import { timeTree } from "../elements/timed.ts";
import { selectorOf } from "../selector.ts";
import { describeElement } from "./element_facts.ts";
import { drawnAncestors } from "./flat_tree.ts";
import type { ElementFacts } from "./layer_finder.ts";
import { elementObstacles } from "./obstacles.ts";
import type { ScriptRecording } from "./script_recording.ts";

export class ScriptedElements {
  private readonly recording: ScriptRecording;
  private readonly known = new Set<Animation>();

  constructor(recording: ScriptRecording) {
    this.recording = recording;
  }

  /** Of an element that is shown; `before` is what it was when it was shown first. */
  obstacles(element: Element, before: ElementFacts | undefined): string[] {
    const { movers, parts } = this.recording;
    const isPart = [...drawnAncestors(element)].some((each) => parts.has(each));
    if (!isPart && !movers.has(element as HTMLElement)) return [];
    const style = getComputedStyle(element);
    const found: string[] = [];
    if (/[1-9]/u.test(style.transitionDuration)) {
      found.push(`${selectorOf(element)}: a script changes it, with a transition`);
    }
    if (!isPart || before === undefined || !this.recording.changesRules) return found;
    found.push(...elementObstacles(element, style));
    const now = describeElement(element, style);
    const names = ["isPositioned", "zIndex", "clips", "groups", "isBoxless"] as const;
    if (names.some((name) => now[name] !== before[name])) {
      found.push(`${selectorOf(element)}: a script changes how it is painted`);
    }
    return found;
  }

  /** Of an element around which scripts add or remove others: it is drawn with all of them. */
  insideObstacles(element: Element, facts: ReadonlyMap<Element, ElementFacts>): string[] {
    const style = getComputedStyle(element);
    const { isPositioned, isContext } = describeElement(element, style);
    const whole = [...drawnAncestors(element)]
      .filter((each) => this.recording.wholes.has(each))
      .at(-1);
    const found = elementObstacles(element, style);
    if ((isPositioned || isContext) && whole !== undefined && !facts.get(whole)?.isContext) {
      found.push(`${selectorOf(element)}: a script adds it with its own place in the painting`);
    }
    return found;
  }

  /** Of an animation that a script has started: when it began is not known. */
  animationObstacles(animation: Animation, frame: number): string[] {
    const target = (animation.effect as KeyframeEffect | null)?.target ?? null;
    if (target === null) return [];
    if (this.recording.isInsideWhole(target)) {
      return [`${selectorOf(target)}: it moves, and a script adds it`];
    }
    if (timeTree.nearest(target) !== null) return [];
    if (frame === 0) this.known.add(animation);
    return this.known.has(animation) ? [] : [`${selectorOf(target)}: its animation starts later`];
  }
}
