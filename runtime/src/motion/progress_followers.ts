/** Elements whose styles follow `--ef-progress`: they look different in every frame. */

import { rulesOf } from "./style_rules.ts";

const VARIABLE = "--ef-progress";

export function followersOfProgress(): Set<Element> {
  const written = document.querySelectorAll(`[style*="var(${VARIABLE}"]`);
  const followers = new Set<Element>(written);
  for (const rule of rulesOf(document)) {
    if (!(rule instanceof CSSStyleRule) || !rule.cssText.includes(`var(${VARIABLE}`)) continue;
    for (const each of matching(elementSelector(rule.selectorText))) followers.add(each);
  }
  return followers;
}

/** Rules that follow it in a way that names no element. */
export function unreadableFollowers(): string[] {
  return [...rulesOf(document)]
    .filter((rule) => !(rule instanceof CSSStyleRule || rule instanceof CSSGroupingRule))
    .filter((rule) => rule.cssText.includes(`var(${VARIABLE}`))
    .map((rule) => `a rule follows ${VARIABLE}: ${rule.cssText.slice(0, 40)}`);
}

/** A pseudo-element is drawn with the element it belongs to. */
function elementSelector(selector: string): string {
  return selector.replace(/::[\w-]+(?:\([^()]*\))?/gu, "");
}

function matching(selector: string): Iterable<Element> {
  try {
    return document.querySelectorAll(selector);
  } catch {
    // The parts of a nested rule are inside what the rule around it selects.
    return [];
  }
}
