/** Inline styles that are set for a while over everything else, and then taken back. */

interface Held {
  readonly element: HTMLElement | SVGElement;
  readonly name: string;
  value: string;
  priority: string;
}

/** What each style was before anything was set over it, by element and name. */
const beneath = new Map<Element, Map<string, Held>>();

/** Set an inline style; one that is held is seen once it is released. */
export function setBeneath(
  element: HTMLElement | SVGElement,
  name: string,
  value: string,
  priority: string,
): void {
  const held = beneath.get(element)?.get(name);
  if (held === undefined) restore({ element, name, value, priority });
  else Object.assign(held, { value, priority });
}

export class HeldStyles {
  private readonly held: Held[] = [];

  set(element: Element, name: string, value: string): void {
    if (!(element instanceof HTMLElement || element instanceof SVGElement)) return;
    const { style } = element;
    const before = {
      value: style.getPropertyValue(name),
      priority: style.getPropertyPriority(name),
    };
    const held = { element, name, ...before };
    this.held.push(held);
    const names = beneath.get(element) ?? new Map<string, Held>();
    beneath.set(element, names);
    if (!names.has(name)) names.set(name, held);
    style.setProperty(name, value, "important");
  }

  /** Transitions come back last: nothing that changes here may start one. */
  release(): void {
    const last: Held[] = [];
    for (const each of this.held.reverse()) {
      const names = beneath.get(each.element);
      if (names?.get(each.name) === each) names.delete(each.name);
      if (names?.size === 0) beneath.delete(each.element);
      if (each.name === "transition") last.push(each);
      else restore(each);
    }
    this.held.length = 0;
    if (last.length === 0) return;
    for (const { element } of last) getComputedStyle(element).opacity;
    for (const each of last) restore(each);
  }
}

function restore({ element, name, value, priority }: Held): void {
  if (value === "") element.style.removeProperty(name);
  else element.style.setProperty(name, value, priority);
}
