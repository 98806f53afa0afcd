/**
 * Shadow trees of the page's elements, closed ones included. Neither observers nor selectors of the
 * document reach into them.
 */

const attached = new WeakMap<Element, ShadowRoot>();

/** Called before the page's own scripts; `onAttach` gets each root that a script attaches. */
export function watchShadowRoots(onAttach: (root: ShadowRoot) => void): void {
  const native = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(
    this: Element,
    init: ShadowRootInit,
  ): ShadowRoot {
    const root = native.call(this, init);
    attached.set(this, root);
    if (!isOurs(this)) onAttach(root);
    return root;
  };
}

/** All shadow roots in and below a node, also those in others. Ours look after themselves. */
export function shadowRootsIn(node: Element | Document | ShadowRoot): ShadowRoot[] {
  const own = node instanceof Element ? [node] : [];
  return [...own, ...node.querySelectorAll("*")].flatMap((element) => {
    const root = isOurs(element) ? null : (element.shadowRoot ?? attached.get(element));
    return root == null ? [] : [root, ...shadowRootsIn(root)];
  });
}

/** All <img> of the page. */
export function imagesOfPage(): HTMLImageElement[] {
  const inRoots = shadowRootsIn(document).flatMap((root) => [...root.querySelectorAll("img")]);
  return [...document.images, ...inRoots];
}

function isOurs(element: Element): boolean {
  return element.localName.startsWith("ef-");
}
