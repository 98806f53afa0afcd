/** Why a page must be filmed frame by frame: what cannot be drawn once and then moved. */

import { selectorOf } from "../selector.ts";
import { redrawnProperties } from "./effects.ts";
import { hasMotionHandler } from "./motion_listeners.ts";

const DRAWS_ITSELF =
  "canvas, video, iframe, object, embed, marquee, ef-video, ef-waveform, ef-captions, ef-surface," +
  " ef-motionblur, ef-pan-zoom, animate, animateTransform, animateMotion, set, dialog[open]";

/** Of the page as a whole; "" if there is none. */
export function pageObstacle(): string {
  if (document.scrollingElement?.scrollTop || document.scrollingElement?.scrollLeft) {
    return "the page is scrolled";
  }
  for (const sheet of [...document.styleSheets, ...document.adoptedStyleSheets]) {
    const rules = rulesOf(sheet);
    if (rules === null) return "a style sheet of another origin cannot be read";
    for (const rule of rules) {
      if (rule.cssText.includes("--ef-progress")) return "a style follows --ef-progress";
      // Chromium does not list custom properties among those of an animation.
      if (rule instanceof CSSKeyframesRule && /[{;\s]--[\w-]+\s*:/u.test(rule.cssText)) {
        return `@keyframes ${rule.name}: animated custom property`;
      }
    }
  }
  return "";
}

/** Of one element that is in the picture; "" if there is none. */
export function elementObstacle(element: Element, style: CSSStyleDeclaration): string {
  const named = (what: string): string => `${selectorOf(element)}: ${what}`;
  if (element.matches(DRAWS_ITSELF)) return named("draws itself in each frame");
  const isOther = element.localName.includes("-") && !element.localName.startsWith("ef-");
  if (isOther && element instanceof HTMLElement) return named("is an element of the page's own");
  if (/var\(--ef-progress/u.test(element.getAttribute("style") ?? "")) {
    return named("follows --ef-progress");
  }
  if (hasMotionHandler(element)) return named("a script waits for its motion");
  if (style.mixBlendMode !== "normal") return named("mix-blend-mode");
  if (style.backdropFilter !== "none") return named("backdrop-filter");
  if (style.backgroundAttachment.includes("fixed")) return named("background-attachment: fixed");
  if (style.perspective !== "none") return named("perspective");
  if (style.transformStyle === "preserve-3d") return named("transform-style: preserve-3d");
  if (style.position === "sticky") return named("position: sticky");
  return "";
}

/** Of one animation; "" if it only moves a picture. */
export function animationObstacle(animation: Animation): string {
  const { effect } = animation;
  if (animation instanceof CSSTransition) return "a transition has started";
  if (!(effect instanceof KeyframeEffect) || effect.target === null) return "";
  const named = (what: string): string => `${selectorOf(effect.target as Element)}: ${what}`;
  if (hasMotionHandler(animation)) return named("a script waits for its motion");
  if (animation.timeline !== document.timeline) return named("another timeline");
  if (animation.playbackRate !== 1) return named("another speed");
  if (effect.pseudoElement !== null) return named(`animated ${effect.pseudoElement}`);
  if (!(effect.target instanceof HTMLElement)) return named("animated part of a drawing");
  const redrawn = redrawnProperties(effect.getKeyframes());
  return redrawn.length > 0 ? named(`animated ${redrawn.join(", ")}`) : "";
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
