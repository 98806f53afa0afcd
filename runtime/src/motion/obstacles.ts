/** Why a page must be filmed frame by frame: what cannot be drawn once and then moved. */

import { selectorOf } from "../selector.ts";
import { redrawnProperties } from "./effects.ts";
import { footageObstacles, isFootage } from "./footage.ts";
import { hasMotionHandler } from "./motion_listeners.ts";

const DRAWS_ITSELF =
  "canvas, video, iframe, object, embed, marquee, ef-waveform, ef-captions, ef-surface," +
  " ef-motionblur, ef-pan-zoom, animate, animateTransform, animateMotion, set, dialog[open]";

/** Of the page as a whole. */
export function pageObstacles(): string[] {
  const found: string[] = [];
  if (document.scrollingElement?.scrollTop || document.scrollingElement?.scrollLeft) {
    found.push("the page is scrolled");
  }
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets]) {
    const rules = rulesOf(sheet);
    if (rules === null) found.push("a style sheet of another origin cannot be read");
    for (const rule of rules ?? []) {
      if (rule.cssText.includes("--ef-progress")) found.push("a style follows --ef-progress");
      // Chromium does not list custom properties among those of an animation.
      if (rule instanceof CSSKeyframesRule && /[{;\s]--[\w-]+\s*:/u.test(rule.cssText)) {
        found.push(`@keyframes ${rule.name}: animated custom property`);
      }
    }
  }
  return found;
}

/** Of one element that is in the picture. */
export function elementObstacles(element: Element, style: CSSStyleDeclaration): string[] {
  const isOther = element.localName.includes("-") && !element.localName.startsWith("ef-");
  const reasons: readonly [boolean, string][] = [
    [element.matches(DRAWS_ITSELF) && !isFootage(element), "draws itself in each frame"],
    [isOther && element instanceof HTMLElement, "is an element of the page's own"],
    [/var\(--ef-progress/u.test(element.getAttribute("style") ?? ""), "follows --ef-progress"],
    [hasMotionHandler(element), "a script waits for its motion"],
    [style.mixBlendMode !== "normal", "mix-blend-mode"],
    [style.backdropFilter !== "none", "backdrop-filter"],
    [style.backgroundAttachment.includes("fixed"), "background-attachment: fixed"],
    [style.perspective !== "none", "perspective"],
    [style.transformStyle === "preserve-3d", "transform-style: preserve-3d"],
    [style.position === "sticky", "position: sticky"],
  ];
  const found = reasons.filter(([is]) => is).map(([, what]) => what);
  return [...found, ...footageObstacles(element, style)].map(
    (what) => `${selectorOf(element)}: ${what}`,
  );
}

/** Of one animation; none if it only moves a picture. */
export function animationObstacles(animation: Animation): string[] {
  const { effect } = animation;
  if (animation instanceof CSSTransition) return ["a transition has started"];
  if (!(effect instanceof KeyframeEffect) || effect.target === null) return [];
  const redrawn = redrawnProperties(effect.getKeyframes());
  const reasons: readonly [boolean, string][] = [
    [hasMotionHandler(animation), "a script waits for its motion"],
    [animation.timeline !== document.timeline, "another timeline"],
    [animation.playbackRate !== 1, "another speed"],
    [effect.pseudoElement !== null, `animated ${effect.pseudoElement}`],
    [!(effect.target instanceof HTMLElement), "animated part of a drawing"],
    // The canvas in its place has copies of its styles.
    [effect.target instanceof HTMLVideoElement, "animated <video>"],
    [redrawn.length > 0, `animated ${redrawn.join(", ")}`],
  ];
  const name = selectorOf(effect.target);
  return reasons.filter(([is]) => is).map(([, what]) => `${name}: ${what}`);
}

/** All rules, those inside others as well; null if they cannot be read. */
function rulesOf(sheet: CSSStyleSheet | CSSGroupingRule): CSSRule[] | null {
  try {
    return [...sheet.cssRules].flatMap((rule) =>
      rule instanceof CSSGroupingRule ? [rule, ...(rulesOf(rule) ?? [])] : [rule],
    );
  } catch {
    return null;
  }
}
