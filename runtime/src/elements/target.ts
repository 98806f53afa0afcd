/** What an element names with `target` or `for`: the id of another one. */

import { selectorOf } from "../selector.ts";

const WITH_TARGETS = "ef-surface, ef-captions";

/** The element with that id, which may be written with a `#`. */
export function elementNamed(id: string | null): HTMLElement | null {
  return id === null ? null : document.getElementById(idOf(id));
}

export function idOf(written: string): string {
  return written.replace(/^#/u, "");
}

/** Targets that are not there, each as a warning. */
export function missingTargets(): string[] {
  return [...document.querySelectorAll(WITH_TARGETS)].flatMap((element) => {
    const id = element.getAttribute("target") ?? element.getAttribute("for");
    if (id === null || elementNamed(id) !== null) return [];
    return `${selectorOf(element)} target="${id}": there is no element with that id`;
  });
}
