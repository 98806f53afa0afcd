/** Names an element for a person: a short selector that finds it in the composition. */

export function selectorOf(element: Element): string {
  let selector = partOf(element);
  let outer = element.parentElement;
  while (outer !== null && !isUnique(selector, element)) {
    selector = `${partOf(outer)} > ${selector}`;
    outer = outer.parentElement;
  }
  return selector;
}

function partOf(element: Element): string {
  if (element.id !== "") return `${element.localName}#${CSS.escape(element.id)}`;
  const siblings = [...(element.parentElement?.children ?? [])];
  const alike = siblings.filter((sibling) => sibling.localName === element.localName);
  if (alike.length <= 1) return element.localName;
  return `${element.localName}:nth-of-type(${alike.indexOf(element) + 1})`;
}

function isUnique(selector: string, element: Element): boolean {
  const root = element.getRootNode();
  if (!(root instanceof Document || root instanceof ShadowRoot)) return true;
  return root.querySelectorAll(selector).length <= 1;
}
