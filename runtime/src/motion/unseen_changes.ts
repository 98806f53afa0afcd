/**
 * Notices when scripts change a page in ways that are not changes of its document: scrolling, style
 * rules, animations, fields. What they did could not be repeated.
 */

type Owner = { prototype: object } | undefined;

const METHODS: Readonly<Record<string, string>> = {
  Element: "animate attachShadow scroll scrollTo scrollBy scrollIntoView",
  Animation: "play pause cancel finish reverse updatePlaybackRate commitStyles",
  AnimationEffect: "updateTiming",
  KeyframeEffect: "setKeyframes",
  StylePropertyMap: "set append delete clear",
  CSSStyleSheet: "insertRule deleteRule addRule removeRule replace replaceSync",
  CSSGroupingRule: "insertRule deleteRule",
  CSSKeyframesRule: "appendRule deleteRule",
  SVGTransform: "setMatrix setTranslate setScale setRotate setSkewX setSkewY",
  SVGTransformList: "initialize appendItem clear replaceItem insertItemBefore removeItem",
  SVGPointList: "initialize appendItem clear replaceItem insertItemBefore removeItem",
  SVGLengthList: "initialize appendItem clear replaceItem insertItemBefore removeItem",
  SVGNumberList: "initialize appendItem clear replaceItem insertItemBefore removeItem",
  SVGSVGElement: "setCurrentTime pauseAnimations unpauseAnimations",
  HTMLMediaElement: "play pause load",
  HTMLDialogElement: "showModal",
  FontFaceSet: "add delete clear",
  CustomElementRegistry: "define",
};

const SETTERS: Readonly<Record<string, string>> = {
  Element: "scrollTop scrollLeft",
  Animation: "currentTime startTime playbackRate effect timeline",
  StyleSheet: "disabled",
  Document: "adoptedStyleSheets",
  ShadowRoot: "adoptedStyleSheets",
  SVGLength: "value valueInSpecifiedUnits valueAsString",
  SVGAngle: "value valueInSpecifiedUnits valueAsString",
  SVGNumber: "value",
  SVGPoint: "x y",
  SVGRect: "x y width height",
  SVGMatrix: "a b c d e f",
  SVGAnimatedNumber: "baseVal",
  SVGAnimatedInteger: "baseVal",
  SVGAnimatedString: "baseVal",
  SVGAnimatedBoolean: "baseVal",
  SVGAnimatedEnumeration: "baseVal",
  HTMLInputElement: "value checked valueAsNumber indeterminate",
  HTMLTextAreaElement: "value",
  HTMLSelectElement: "value selectedIndex",
  HTMLOptionElement: "selected",
  HTMLMediaElement: "currentTime playbackRate volume muted src srcObject",
};

/** Whoever has these can change rules. */
const GETTERS: Readonly<Record<string, string>> = {
  CSSStyleRule: "style styleMap",
  CSSKeyframeRule: "style",
};

/** Call `notice` with a name whenever one of these is used. */
export function watchUnseenChanges(notice: (what: string) => void): void {
  for (const [owner, names] of Object.entries(METHODS)) watchMethods(owner, names, notice);
  for (const [owner, names] of Object.entries(SETTERS)) watchAccessors(owner, names, "set", notice);
  for (const [owner, names] of Object.entries(GETTERS)) watchAccessors(owner, names, "get", notice);
  for (const name of ["scroll", "scrollTo", "scrollBy"] as const) {
    const inner = window[name].bind(window) as (...args: unknown[]) => void;
    window[name] = (...args: unknown[]): void => {
      notice(name);
      inner(...args);
    };
  }
}

function prototypeOf(owner: string): object | undefined {
  return (window as unknown as Record<string, Owner>)[owner]?.prototype;
}

function watchMethods(owner: string, names: string, notice: (what: string) => void): void {
  const prototype = prototypeOf(owner);
  if (prototype === undefined) return;
  for (const name of names.split(" ")) {
    const method = Object.getOwnPropertyDescriptor(prototype, name);
    const inner: unknown = method?.value;
    if (method === undefined || typeof inner !== "function") continue;
    const value = function watched(this: unknown, ...args: unknown[]): unknown {
      notice(`${owner}.${name}`);
      return Reflect.apply(inner, this, args);
    };
    Object.defineProperty(prototype, name, { ...method, value });
  }
}

function watchAccessors(
  owner: string,
  names: string,
  kind: "get" | "set",
  notice: (what: string) => void,
): void {
  const prototype = prototypeOf(owner);
  if (prototype === undefined) return;
  for (const name of names.split(" ")) {
    const property = Object.getOwnPropertyDescriptor(prototype, name);
    const inner = property?.[kind];
    if (property === undefined || inner === undefined) continue;
    const watched = function watched(this: unknown, ...args: unknown[]): unknown {
      notice(`${owner}.${name}`);
      return Reflect.apply(inner, this, args);
    };
    Object.defineProperty(prototype, name, { ...property, [kind]: watched });
  }
}
