/**
 * One frame of the film: time, then the tree, then elements, animations and tasks.
 *
 * Runs before every callback of the author in the same frame. Knows nothing of where time comes
 * from: the renderer's clock or a player in a tab.
 */

import { animatedUses } from "./animated_uses.ts";
import { AnimationDriver } from "./animation.ts";
import { frameTimeMs, type FrameRate } from "./clock.ts";
import { asyncWork, TimegroupElement } from "./elements/timegroup.ts";
import { fitted, followers, timeTree, type TimedElement } from "./elements/timed.ts";
import type { NativeMedia } from "./native_media.ts";
import { windowOf } from "./plan.ts";
import { sizeRoot } from "./root_box.ts";
import { framesWithin, historyOf } from "./scale_history.ts";
import { selectorOf } from "./selector.ts";
import { animationsOfPage } from "./shadow_roots.ts";
import type { Place } from "./timing/tree.ts";

type TimedPlace = Place<TimedElement>;

export class Driver {
  private readonly animations = new AnimationDriver();
  private readonly natives: NativeMedia | null;
  /** Calls the function that runs the tasks of a frame; returns whether any ran. */
  aroundTasks: (run: () => boolean) => boolean = (run) => run();

  constructor(natives: NativeMedia | null) {
    this.natives = natives;
    if (natives !== null) natives.onLatePicture = () => this.follow();
  }

  /** Whether there is anything in the page that this driver moves. */
  get hasWork(): boolean {
    return timeTree.all().length > 0 || this.natives?.hasAny === true;
  }

  /** Show the composition at that time of the film. */
  frame(nowMs: number): void {
    timeTree.nowMs = nowMs;
    const places = timeTree.all();
    const seen = places.filter((place) => setVisibility(place));
    for (const place of seen) setVariables(place);
    for (const place of seen) calling(place, (element, ownMs) => element.update(ownMs));
    const roots = places.filter((place) => place.parent === null).map((place) => place.element);
    this.animations.drive(roots, clockOf);
    for (const element of fitted) element.fit();
    for (const place of seen) calling(place, (element, ownMs) => element.paint(ownMs));
    this.natives?.update();
    if (this.aroundTasks(() => runTasks(seen))) this.animations.driveNew(roots, clockOf);
    this.follow();
  }

  /** Frames to draw before a frame that is jumped to. Nothing is drawn here. */
  framesBefore(frame: number, rate: FrameRate): number[] {
    const [shownMs, atMs] = [timeTree.nowMs, frameTimeMs(frame, rate)];
    const places = timeTree.all();
    const goTo = (nowMs: number): void => {
      timeTree.nowMs = nowMs;
      for (const place of places) setVisibility(place);
    };
    // Only what is not hidden has animations. Outside of timed elements they begin with the film.
    goTo(atMs);
    const spans = animationsOfPage().flatMap(
      (each) => historyOf(each, (target) => clockOf(target) ?? atMs, atMs) ?? [],
    );
    for (const use of animatedUses()) {
      const place = timeTree.nearest(use);
      if (place === null || !isSeen(place)) continue;
      const { startMs } = windowOf(place, atMs);
      spans.push({ firstMs: startMs, lastMs: startMs + frameTimeMs(1, rate) });
    }
    goTo(shownMs);
    return framesWithin(spans, frame, rate);
  }

  /** Mirrors, once everything they may show is drawn. */
  follow(): void {
    for (const follower of followers) follower.follow(timeTree.nowMs);
  }

  /** What still has to come before frame 0; runs initializers as soon as they can be. */
  pending(): string[] {
    const waiting = [
      ...timeTree.all().flatMap(({ element }) => element.pending()),
      ...(this.natives?.pending() ?? []),
    ];
    if (waiting.length === 0 && document.readyState === "complete") initialize();
    return [...waiting, ...asyncWork.pending()];
  }

  /** Why the composition cannot be rendered, or "". Scripts may set things right until loaded. */
  failure(): string {
    if (document.readyState !== "complete") return "";
    const failures = [
      ...timeTree.all().map(({ element }) => element.unreadableTime() || element.failure()),
      ...(this.natives?.failures() ?? []),
    ];
    return failures.find((failure) => failure !== "") ?? "";
  }
}

/** Hide an element outside its time; return whether it and all its parents are visible. */
function setVisibility(place: TimedPlace): boolean {
  const isVisible = timeTree.isVisible(place);
  if (isVisible) place.element.show();
  else place.element.hide();
  return isVisible && isSeen(place.parent);
}

/** Whether an element and all that hold it are in their time. */
export function isSeen(place: TimedPlace | null): boolean {
  for (let at = place; at !== null; at = at.parent) if (!timeTree.isVisible(at)) return false;
  return true;
}

function setVariables(place: TimedPlace): void {
  const { element, span, node } = place;
  const ownMs = timeTree.ownMs(place);
  setVariable(element, "--ef-progress", span.lengthMs > 0 ? `${ownMs / span.lengthMs}` : "0");
  setVariable(element, "--ef-duration", `${span.lengthMs}ms`);
  if (!node.isGroup) return;
  const overlapMs = place.parent?.node.overlapMs ?? 0;
  setVariable(element, "--ef-transition-duration", `${overlapMs}ms`);
  setVariable(element, "--ef-transition-out-start", `${span.lengthMs - overlapMs}ms`);
}

/** Setting what is set already would make the browser work out all styles below again. */
function setVariable(element: HTMLElement, name: string, value: string): void {
  if (element.style.getPropertyValue(name) !== value) element.style.setProperty(name, value);
}

function calling(place: TimedPlace, call: (element: TimedElement, ownMs: number) => void): void {
  try {
    call(place.element, timeTree.ownMs(place));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    reportError(new Error(`${selectorOf(place.element)}: ${reason}`, { cause: error }));
  }
}

/** The time of animations in the nearest timed element around, itself included. */
function clockOf(target: Element): number | null {
  const place = timeTree.nearest(target);
  return place === null ? null : timeTree.ownMs(place) - place.element.animationDelayMs;
}

function runTasks(seen: readonly TimedPlace[]): boolean {
  let hasRun = false;
  for (const { element } of seen) {
    if (!(element instanceof TimegroupElement) || !element.hasTasks) continue;
    element.runTasks();
    hasRun = true;
  }
  return hasRun;
}

/** Outer groups first: an initializer may prepare what an inner one uses. */
function initialize(): void {
  const groups = timeTree.all().flatMap(({ element }) => {
    return element instanceof TimegroupElement && element.needsInitializing ? [element] : [];
  });
  if (groups.length > 0) sizeRoot();
  for (const group of groups) group.initialize();
}
