/** Elements whose styles follow `--ef-progress`: they look different in every frame. */

import { rulesOf } from "./style_rules.ts";

const VARIABLE = "--ef-progress";
const READS = /(?:var|style)\([^)]*--ef-progress\b/iu;

export function followersOfProgress(): Set<Element> {
  const written = [...document.querySelectorAll(`[style*="${VARIABLE}"]`)];
  const followers = new Set(written.filter((each) => READS.test(each.getAttribute("style") ?? "")));
  for (const rule of rulesOf(document)) {
    if (!(rule instanceof CSSStyleRule) || !READS.test(rule.cssText)) continue;
    for (const each of matching(elementSelector(rule.selectorText))) followers.add(each);
  }
  return followers;
}

/** Rules that follow it in a way that names no element. */
export function unreadableFollowers(): string[] {
  return [...rulesOf(document)]
    .filter((rule) => !(rule instanceof CSSStyleRule))
    .filter((rule) => READS.test(conditionOf(rule) ?? rule.cssText))
    .map((rule) => `a rule follows ${VARIABLE}: ${rule.cssText.slice(0, 40)}`);
}

/** Of a rule with others in it, which are read one by one. */
function conditionOf(rule: CSSRule): string | null {
  if (!(rule instanceof CSSGroupingRule)) return null;
  return rule instanceof CSSConditionRule ? rule.conditionText : "";
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
