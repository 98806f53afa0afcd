/**
 * Whether a frame can be drawn only after those before it, although no script asks to be called:
 * then nobody may jump to it.
 */

import { timeTree } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";
import { followersOfProgress, unreadableFollowers } from "./motion/progress_followers.ts";
import { areReadable, rulesOf } from "./motion/style_rules.ts";
import { animationsOfPage, imagesOfPage, shadowRootsIn } from "./shadow_roots.ts";
import { addressesInStyles } from "./still_frames.ts";
import { isMovingDrawing } from "./timing/animated_picture.ts";

const DRAWN_BY_SCRIPT = "canvas:not([aria-hidden]), iframe, object";
/** They move, or their caret blinks, by times that nobody can set. */
const MOVING = "marquee, [autofocus]";
/** Properties that the elements inside inherit. */
const INHERITED =
  /^(?:--|color$|fill|font|letterSpacing|letter-spacing|lineHeight|line-height|stroke|text|visibility|wordSpacing|word-spacing)/u;
const DECLARED = /[{;]\s*([\w-]+)\s*:/gu;

export function dependsOnFramesBefore(): boolean {
  const hasTasks = timeTree
    .all()
    .some(({ element }) => element instanceof TimegroupElement && element.hasTasks);
  return (
    hasTasks ||
    document.querySelector(`${DRAWN_BY_SCRIPT}, ${MOVING}`) !== null ||
    showsMovingDrawing() ||
    mayStartTransitions()
  );
}

function showsMovingDrawing(): boolean {
  const images = imagesOfPage().map((image) => image.currentSrc || image.src);
  return [...images, ...addressesInStyles()].some(isMovingDrawing);
}

/** Whether what moves may start CSS transitions: they run from the frame that shows the change. */
function mayStartTransitions(): boolean {
  const trees = [document, ...shadowRootsIn(document)];
  const styles = trees
    .flatMap((tree) => [...tree.querySelectorAll("*")])
    .map((element) => getComputedStyle(element));
  if (!styles.some((style) => /[1-9]/u.test(style.transitionDuration))) return false;
  const used = new Set(styles.flatMap((style) => style.animationName.split(", ")));
  return (
    !trees.every(areReadable) ||
    trees.some((tree) => [...rulesOf(tree)].some((rule) => changesOthers(rule, used))) ||
    animationsOfPage().some(changesInherited) ||
    document.querySelector("ef-captions") !== null ||
    followersOfProgress().size > 0 ||
    unreadableFollowers().length > 0
  );
}

/**
 * Whether a rule has a change of one element change another, or one that appears; `used` are the
 * names of the animations that elements have.
 */
function changesOthers(rule: CSSRule, used: ReadonlySet<string>): boolean {
  if (rule instanceof CSSContainerRule) return true;
  if (rule instanceof CSSStartingStyleRule) return timeTree.all().length > 0;
  if (!(rule instanceof CSSKeyframesRule) || !used.has(rule.name)) return false;
  return [...rule.cssText.matchAll(DECLARED)].some(([, name = ""]) => INHERITED.test(name));
}

function changesInherited({ effect }: Animation): boolean {
  if (!(effect instanceof KeyframeEffect)) return false;
  return effect.getKeyframes().some((each) => Object.keys(each).some((key) => INHERITED.test(key)));
}
