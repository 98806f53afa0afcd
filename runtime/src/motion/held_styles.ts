/** Inline styles that are set for a while over everything else, and then taken back. */

interface Held {
  readonly element: HTMLElement | SVGElement;
  readonly name: string;
  readonly value: string;
  readonly priority: string;
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
    this.held.push({ element, name, ...before });
    style.setProperty(name, value, "important");
  }

  /** Transitions come back last: nothing that changes here may start one. */
  release(): void {
    const last: Held[] = [];
    for (const each of this.held.reverse()) {
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
