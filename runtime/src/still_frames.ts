/**
 * How long a page without scripts stays as it is, so that frames in between need not be drawn.
 *
 * What is not known to stay counts as changing. The renderer draws the last of the frames that
 * should be the same, and all of them if that one is not.
 */

import { animatedUses } from "./animated_uses.ts";
import { BEFORE_END_MS, SMIL } from "./animation.ts";
import { frameTimeMs, type FrameRate } from "./clock.ts";
import { timeTree } from "./elements/timed.ts";
import { followersOfProgress, unreadableFollowers } from "./motion/progress_followers.ts";
import { areReadable, rulesOf } from "./motion/style_rules.ts";
import { shadowTrees } from "./shadow_roots.ts";
import { mayMove } from "./timing/animated_picture.ts";
import { stillPart } from "./timing/keyframes.ts";

/** Elements of ours that look the same while no animation runs. */
const STILL_ELEMENTS = new Set([
  ...["ef-timegroup", "ef-text", "ef-text-segment", "ef-image", "ef-audio", "ef-configuration"],
]);
/** What changes without an animation that the page knows of. */
const MOVING =
  `${SMIL}, video, canvas, iframe, object, embed, marquee, progress, input, textarea, select,` +
  " [contenteditable]";
const DATA_ADDRESS = /data:image\/(?:svg\+xml(?:\\"|[^"])*|[^"')\s]+)/giu;

let moves: boolean | null = null;

/**
 * The first frame after `frame`, which is shown, that may look different; at most `count`. 0 for a
 * page that may change in any frame: it need not be asked again.
 */
export function stillUntil(frame: number, rate: FrameRate, count: number): number {
  // Without scripts, what there is in a page stays the same.
  moves ??= mayMoveByItself();
  if (moves) return 0;
  const next = frame + 1;
  const nowMs = frameTimeMs(frame, rate);
  // Not as arguments of one call: a page may have more of them than a call can take.
  const leftMs = [
    ...timeTree.all().flatMap(({ span }) => untilMs([span.startMs, span.endMs], nowMs)),
    ...document.getAnimations().map((each) => leftOf(each)),
  ].reduce((least, each) => Math.min(least, each), Infinity);
  if (leftMs === Infinity) return count;
  const until = Math.floor(((nowMs + leftMs) * rate.numerator) / (1000 * rate.denominator));
  return Math.min(count, Math.max(next, until));
}

/** How long it is to each of these instants that is not over. */
function untilMs(instants: readonly number[], nowMs: number): number[] {
  return instants.filter((each) => each >= nowMs).map((each) => each - nowMs);
}

/** How long an animation leaves its element as it is. */
function leftOf(animation: Animation): number {
  const { effect, playbackRate, currentTime, playState, timeline } = animation;
  const isKnown = effect instanceof KeyframeEffect && typeof currentTime === "number";
  if (!isKnown || playbackRate !== 1 || timeline !== document.timeline) return 0;
  const { delay, endTime } = effect.getComputedTiming();
  const [beginMs, endMs] = [Number(delay), Number(endTime)];
  if (currentTime < beginMs) return beginMs - currentTime;
  // The driver holds animations without a fill there.
  const isHeld = playState === "paused" && currentTime >= endMs - BEFORE_END_MS;
  if (isHeld || currentTime >= endMs) return Infinity;
  return leftInKeyframes(effect);
}

/** How long the values of an animation that runs stay as they are. */
function leftInKeyframes(effect: KeyframeEffect): number {
  const { easing, direction, duration, progress } = effect.getComputedTiming();
  const isPlain = easing === "linear" && direction === "normal" && typeof duration === "number";
  if (!isPlain || typeof progress !== "number") return 0;
  return stillPart(effect.getKeyframes(), progress) * duration;
}

function mayMoveByItself(): boolean {
  if (document.querySelector(MOVING) !== null || !areReadable(document)) return true;
  // Their rules and animations are not looked at.
  if (shadowTrees().length > 0 || animatedUses().length > 0) return true;
  const all = [...document.querySelectorAll("*")];
  if (all.some(({ localName }) => /^ef-/u.test(localName) && !STILL_ELEMENTS.has(localName))) {
    return true;
  }
  const follows = followersOfProgress().size > 0 || unreadableFollowers().length > 0;
  return follows || addressesInStyles().some(mayMove);
}

/** The pictures that are written into styles. */
export function addressesInStyles(): string[] {
  const styles = [
    ...[...rulesOf(document)].map((rule) => rule.cssText),
    ...[...document.querySelectorAll("[style]")].map((each) => each.getAttribute("style") ?? ""),
  ];
  return styles.flatMap((text) => [...(text.match(DATA_ADDRESS) ?? [])]);
}
