/** The elements of a page as they are drawn: shadow trees in the place of what they hold. */

export function drawnChildren(element: Element): Element[] {
  if (element.shadowRoot !== null) return [...element.shadowRoot.children];
  if (element instanceof HTMLSlotElement) {
    const assigned = element.assignedElements();
    if (assigned.length > 0) return assigned;
  }
  return [...element.children];
}

export function drawnParent(element: Element): Element | null {
  if (element.assignedSlot !== null) return element.assignedSlot;
  const { parentNode } = element;
  if (parentNode instanceof ShadowRoot) return parentNode.host;
  return parentNode instanceof Element ? parentNode : null;
}

/** An element and all below it, outer ones first. */
export function* drawnElements(root: Element): Generator<Element> {
  yield root;
  for (const child of drawnChildren(root)) yield* drawnElements(child);
}

/** The element and those around it, outermost last. */
export function* drawnAncestors(element: Element): Generator<Element> {
  for (let at: Element | null = element; at !== null; at = drawnParent(at)) yield at;
}

/** Whether it is in the picture, or at least what is in it: some elements have no box. */
export function isShown(element: Element): boolean {
  if (element.checkVisibility()) return true;
  if (getComputedStyle(element).display !== "contents") return false;
  const parent = drawnParent(element);
  return parent === null || isShown(parent);
}
