/**
 * Moves animations by the clock of the composition instead of their own: CSS, WAAPI and SMIL.
 *
 * Each animation is paused once; then its time is set in every frame. CSS transitions are left
 * alone: they start from events, not from a place in time.
 */

import { shadowTrees } from "./shadow_roots.ts";

type ClockOf = (target: Element) => number | null;

/** Without a fill, an animation is kept short of its end by this much: its last picture stays. */
export const BEFORE_END_MS = 0.1;
export const SMIL = "animate, animateTransform, animateMotion, set";

export class AnimationDriver {
  private readonly known = new WeakSet<Animation>();
  private readonly stopped = new WeakSet<SVGSVGElement>();

  /** Put every animation below `roots` at the time of the element it belongs to. */
  drive(roots: readonly Element[], clockOf: ClockOf): void {
    for (const animation of animationsIn(roots)) this.move(animation, clockOf);
    for (const tree of [...roots, ...shadowTrees()]) {
      for (const svg of animatedPictures(tree)) this.moveSvg(svg, clockOf);
    }
  }

  /** The same only for animations that came since: what authors set themselves is left alone. */
  driveNew(roots: readonly Element[], clockOf: ClockOf): void {
    for (const animation of animationsIn(roots)) {
      if (!this.known.has(animation)) this.move(animation, clockOf);
    }
  }

  private move(animation: Animation, clockOf: ClockOf): void {
    const { effect } = animation;
    if (animation instanceof CSSTransition || !(effect instanceof KeyframeEffect)) return;
    if (!followsTime(animation)) return;
    const clockMs = effect.target === null ? null : clockOf(effect.target);
    if (clockMs === null) return;
    // Its author has paused it.
    if (animation.playState === "paused" && !this.known.has(animation)) return;
    // Pausing sets the time of an animation that has none yet, so it comes first.
    if (animation.playState !== "paused") animation.pause();
    // A speed that was set just now counts once the time is set.
    if (!this.known.has(animation)) animation.currentTime = 0;
    this.known.add(animation);
    const timeMs = heldTimeMs(clockMs, effect.getComputedTiming(), animation.playbackRate);
    if (animation.currentTime !== timeMs) animation.currentTime = timeMs;
  }

  private moveSvg(svg: SVGSVGElement, clockOf: ClockOf): void {
    const clockMs = clockOf(svg);
    if (clockMs === null) return;
    if (!this.stopped.has(svg)) svg.pauseAnimations();
    this.stopped.add(svg);
    svg.setCurrentTime(clockMs / 1000);
  }
}

/** Whether it can be put at a time: others follow how far something is scrolled. */
export function followsTime({ timeline }: Animation): boolean {
  return timeline === null || timeline instanceof DocumentTimeline;
}

/**
 * The time an animation is given; its `endTime` is infinite if it has no end.
 *
 * One that fills forwards is held at its end, where a stepped easing makes its last step. One with
 * a negative speed runs from its end to its start.
 */
export function heldTimeMs(
  clockMs: number,
  { delay, endTime, fill }: Pick<ComputedEffectTiming, "delay" | "endTime" | "fill">,
  rate: number,
): number {
  const endMs = Number(endTime);
  const stays = fill === "forwards" || fill === "both";
  const lastMs = stays ? endMs : Math.max(0, endMs - BEFORE_END_MS);
  if (rate >= 0 || endMs === Infinity) return Math.min(clockMs * rate, lastMs);
  const staysAtStart = fill === "backwards" || fill === "both";
  const firstMs = staysAtStart ? 0 : Math.max(0, Number(delay)) + BEFORE_END_MS;
  return Math.min(Math.max(endMs + clockMs * rate, firstMs), lastMs);
}

/** Those of shadow trees, too, wherever these are: what is not timed has no clock. */
function animationsIn(roots: readonly Element[]): Animation[] {
  return [
    ...roots.flatMap((root) => root.getAnimations({ subtree: true })),
    ...shadowTrees().flatMap((tree) => tree.getAnimations()),
  ];
}

/** SVG pictures keep one clock each, the outermost element's. */
function animatedPictures(root: ParentNode): SVGSVGElement[] {
  return [...root.querySelectorAll("svg")].filter(
    (svg) => svg.ownerSVGElement === null && svg.querySelector(SMIL) !== null,
  );
}
