/**
 * Parts of a page that draw another picture at another time: captions, waveforms, animated colours
 * and sizes, styles that follow `--ef-progress`.
 *
 * A part is an element with all that is in it. What it draws has a name in each frame; the same name
 * twice in a row is the same picture.
 */

import { CaptionsElement } from "../elements/captions.ts";
import { WaveformElement } from "../elements/waveform.ts";
import { effectsOf } from "./effects.ts";
import { drawnAncestors, isShown } from "./flat_tree.ts";
import { TIMED_PARTS } from "./obstacles.ts";
import { followersOfProgress } from "./progress_followers.ts";
import type { ScriptRecording } from "./script_recording.ts";

/** How it is known what a part draws. */
type Reading = (frame: number) => string;

export class RedrawnParts {
  private readonly parts = new Map<Element, Set<string>>();
  private readonly readings = new Map<Element, Reading[]>();

  get all(): Iterable<Element> {
    return this.parts.keys();
  }

  get isEmpty(): boolean {
    return this.parts.size === 0;
  }

  /** Note what is there at the present time, and what scripts draw anew. */
  visit(recording: ScriptRecording | null): void {
    for (const element of recording?.parts.keys() ?? []) {
      this.add(element, "script", (frame) => `${recording?.versionOf(element, frame)}`);
    }
    for (const element of document.querySelectorAll("ef-captions")) {
      if (element instanceof CaptionsElement) this.add(element, "text", () => textOf(element));
    }
    for (const element of document.querySelectorAll("ef-waveform")) {
      if (element instanceof WaveformElement) this.add(element, "drawing", String);
    }
    for (const element of followersOfProgress()) {
      this.add(element, "progress", () => progressAt(element));
    }
    for (const animated of document.querySelectorAll(TIMED_PARTS)) {
      const drawing = outermostDrawing(animated);
      if (drawing !== null) this.add(drawing, "drawing", String);
    }
    for (const animation of document.getAnimations()) {
      const part = redrawnBy(animation);
      if (part !== null) this.add(part, "animation", () => "");
    }
  }

  /** The parts in which an element is, outermost last. */
  around(element: Element): Element[] {
    return [...drawnAncestors(element)].filter((each) => this.parts.has(each));
  }

  /** What each part draws at the present time, which is that of the frame. */
  names(frame: number): Map<Element, string> {
    const names = new Map<Element, string[]>();
    for (const [part, readings] of this.readings) {
      names.set(part, isShown(part) ? readings.map((read) => read(frame)) : [""]);
    }
    for (const animation of document.getAnimations()) {
      const part = redrawnBy(animation);
      if (part !== null) names.get(part)?.push(progressOf(animation));
    }
    return new Map([...names].map(([part, each]) => [part, each.join(" ")]));
  }

  private add(part: Element, kind: string, reading: Reading): void {
    const kinds = this.parts.get(part) ?? new Set();
    if (kinds.has(kind)) return;
    this.parts.set(part, kinds.add(kind));
    this.readings.set(part, [...(this.readings.get(part) ?? []), reading]);
  }
}

/** The element that an animation draws anew; null if it only moves it. */
export function redrawnBy(animation: Animation): Element | null {
  const { effect } = animation;
  if (!(effect instanceof KeyframeEffect) || effect.target === null) return null;
  const { target } = effect;
  if (target instanceof SVGElement) return outermostDrawing(target);
  const isRedrawn =
    effect.pseudoElement !== null || effectsOf(effect.getKeyframes()).redrawn.length > 0;
  return isRedrawn ? target : null;
}

function outermostDrawing(element: Element): SVGSVGElement | null {
  const around = [...drawnAncestors(element)].filter((each) => each instanceof SVGSVGElement);
  return around.at(-1) ?? null;
}

function progressOf({ effect }: Animation): string {
  const timing = effect?.getComputedTiming();
  return `${timing?.currentIteration} ${timing?.progress}`;
}

function textOf(captions: CaptionsElement): string {
  const parts = [...captions.querySelectorAll<HTMLElement>("*")];
  const indexes = parts.map(({ style }) => style.getPropertyValue("--ef-word-index"));
  return [captions.textContent, ...parts.map((part) => part.hidden), ...indexes].join("|");
}

function progressAt(element: Element): string {
  return getComputedStyle(element).getPropertyValue("--ef-progress");
}
