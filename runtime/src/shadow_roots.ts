/**
 * Shadow trees of the page's elements, closed ones included. Observers, selectors and lists of
 * animations of the document do not reach into them.
 */

const attached = new WeakMap<Element, ShadowRoot>();
/** Those that were in the document when they were last looked for. */
const present = new Set<ShadowRoot>();

/** Called before the page's own scripts; `onAttach` gets each root that a script attaches. */
export function watchShadowRoots(onAttach: (root: ShadowRoot) => void): void {
  const native = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(
    this: Element,
    init: ShadowRootInit,
  ): ShadowRoot {
    const root = native.call(this, init);
    attached.set(this, root);
    if (isOurs(this)) return root;
    present.add(root);
    onAttach(root);
    return root;
  };
}

/** All shadow roots in and below a node, also those in others. Ours look after themselves. */
export function shadowRootsIn(node: Element | Document | ShadowRoot): ShadowRoot[] {
  const own = node instanceof Element ? [node] : [];
  return [...own, ...node.querySelectorAll("*")].flatMap((element) => {
    const root = shadowRootOf(element);
    if (root === null) return [];
    present.add(root);
    return [root, ...shadowRootsIn(root)];
  });
}

/** The shadow root of an element of the page's own. */
export function shadowRootOf(element: Element): ShadowRoot | null {
  return isOurs(element) ? null : (element.shadowRoot ?? attached.get(element) ?? null);
}

/** The shadow trees in the document that were found so far. */
export function shadowTrees(): ShadowRoot[] {
  for (const root of present) if (!root.isConnected) present.delete(root);
  return [...present];
}

/** All animations of the page. */
export function animationsOfPage(): Animation[] {
  return [document, ...shadowTrees()].flatMap((tree) => tree.getAnimations());
}

/** All <img> of the page. */
export function imagesOfPage(): HTMLImageElement[] {
  const inRoots = shadowRootsIn(document).flatMap((root) => [...root.querySelectorAll("img")]);
  return [...document.images, ...inRoots];
}

function isOurs(element: Element): boolean {
  return element.localName.startsWith("ef-");
}
