/** Why a page must be filmed frame by frame: what cannot be drawn once and then moved. */

import { showsAnimation } from "../animated_uses.ts";
import { timeTree } from "../elements/timed.ts";
import { selectorOf } from "../selector.ts";
import { shadowRootOf } from "../shadow_roots.ts";
import { effectsOf } from "./effects.ts";
import { hasColumns } from "./element_facts.ts";
import { footageObstacles, isFootage } from "./footage.ts";
import { markerObstacle } from "./ink_box.ts";
import { hasMotionHandler } from "./motion_listeners.ts";
import { unreadableFollowers } from "./progress_followers.ts";
import { areReadable, rulesOf } from "./style_rules.ts";

const DRAWS_ITSELF =
  "canvas, video, iframe, object, embed, marquee, ef-surface, ef-motionblur, ef-pan-zoom," +
  " dialog[open], progress:not([value]), [autofocus]";
export const TIMED_PARTS = "animate, animateTransform, animateMotion, set";
/** What other drawings, and elements by their styles, show. */
const SHARED =
  "linearGradient, radialGradient, pattern, filter, mask, clipPath, marker, symbol, defs";
const IN_SHARED = "an animation in what other elements show";

/** Where or below what an element is painted is read once. */
const CHANGES_PAINTING =
  /^(?:zIndex|order|mixBlendMode|overflow[XY]?|isolation|contain|perspective|transformStyle|display|cssFloat|backdropFilter|contentVisibility|webkitBoxReflect)$/u;

/** Of the page as a whole. */
export function pageObstacles(): string[] {
  const found: string[] = [];
  if (document.scrollingElement?.scrollTop || document.scrollingElement?.scrollLeft) {
    found.push("the page is scrolled");
  }
  if (!areReadable(document)) found.push("a style sheet of another origin cannot be read");
  found.push(...unreadableFollowers());
  const shared = document.querySelector(`:is(${SHARED}) :is(${TIMED_PARTS})`);
  if (shared !== null) found.push(`${selectorOf(shared)}: ${IN_SHARED}`);
  for (const rule of rulesOf(document)) {
    // Chromium does not list custom properties among those of an animation.
    if (rule instanceof CSSKeyframesRule && /[{;\s]--[\w-]+\s*:/u.test(rule.cssText)) {
      found.push(`@keyframes ${rule.name}: animated custom property`);
    }
  }
  return found;
}

/** Of one element that is in the picture. */
export function elementObstacles(element: Element, style: CSSStyleDeclaration): string[] {
  const isOther = element.localName.includes("-") && !element.localName.startsWith("ef-");
  const reasons: readonly [boolean, string][] = [
    [
      element.matches(DRAWS_ITSELF) && !isFootage(element) && !isWaveform(element),
      "draws itself in each frame",
    ],
    [isRunningDrawing(element), "draws itself in each frame"],
    [isOther && element instanceof HTMLElement, "is an element of the page's own"],
    [shadowRootOf(element) !== null, "a shadow tree"],
    [hasMotionHandler(element), "a script waits for its motion"],
    [style.mixBlendMode !== "normal", "mix-blend-mode"],
    [style.backdropFilter !== "none", "backdrop-filter"],
    [style.backgroundAttachment.includes("fixed"), "background-attachment: fixed"],
    [style.perspective !== "none", "perspective"],
    [style.transformStyle === "preserve-3d", "transform-style: preserve-3d"],
    [style.position === "sticky", "position: sticky"],
    [hasColumns(element, style), "a background of columns"],
    [style.getPropertyValue("-webkit-box-reflect") !== "none", "-webkit-box-reflect"],
    [element.matches("foreignObject"), "HTML in a drawing"],
    [element instanceof SVGUseElement && showsAnimation(element), "a copy of what is animated"],
    [element.matches("audio[controls]"), "controls of a player"],
    [element.matches("mfrac, msqrt, mroot"), "lines of a formula"],
    [
      style.borderImageSource !== "none" && !/^0(?:px)?$/u.test(style.borderImageOutset),
      "border-image-outset",
    ],
  ];
  const found = reasons.filter(([is]) => is).map(([, what]) => what);
  const marker = markerObstacle(element, style);
  if (marker !== "") found.push(marker);
  return [...found, ...footageObstacles(element, style)].map(
    (what) => `${selectorOf(element)}: ${what}`,
  );
}

/** The canvas of a waveform is drawn by us, for any time. */
function isWaveform(element: Element): boolean {
  const root = element.getRootNode();
  return root instanceof ShadowRoot && root.host.matches("ef-waveform");
}

/** Whether its animated parts follow a clock that cannot be put at another time. */
function isRunningDrawing(element: Element): boolean {
  if (!(element instanceof SVGSVGElement) || timeTree.nearest(element) !== null) return false;
  return element.querySelector(TIMED_PARTS) !== null;
}

/** Of one animation; none if it can be put at any time. */
export function animationObstacles(animation: Animation): string[] {
  const { effect } = animation;
  if (animation instanceof CSSTransition) return ["a transition has started"];
  if (!(effect instanceof KeyframeEffect) || effect.target === null) return [];
  const reasons: [boolean, string][] = [
    [hasMotionHandler(animation), "a script waits for its motion"],
    [animation.timeline !== document.timeline, "another timeline"],
    [animation.playbackRate !== 1, "another speed"],
    [effect.target.closest(SHARED) !== null, IN_SHARED],
    // The canvas in its place has copies of its styles.
    [effect.target instanceof HTMLVideoElement, "animated <video>"],
  ];
  const { clip, other } = repainted(effect);
  reasons.push([other !== "", `animated ${other}`]);
  reasons.push([clip !== "" && isClip(effect.target), `animated ${clip} of a clip`]);
  const name = selectorOf(effect.target);
  return reasons.filter(([is]) => is).map(([, what]) => `${name}: ${what}`);
}

/** Animated properties that change where in the painting an element is, or how it cuts. */
function repainted(effect: KeyframeEffect): { clip: string; other: string } {
  const { redrawn } = effectsOf(effect.getKeyframes());
  return {
    clip: redrawn.find((name) => /^border.*Radius$/u.test(name)) ?? "",
    other: redrawn.find((name) => CHANGES_PAINTING.test(name)) ?? "",
  };
}

function isClip(element: Element): boolean {
  const { overflowX, overflowY } = getComputedStyle(element);
  return overflowX !== "visible" || overflowY !== "visible";
}
