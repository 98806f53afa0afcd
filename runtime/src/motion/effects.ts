/** Which animated properties only move a finished picture, and which draw another one. No DOM. */

const PLACED = new Set([
  ...["transform", "translate", "rotate", "scale", "opacity", "visibility", "clipPath"],
]);
/** What a keyframe says about itself. */
const OWN = new Set(["offset", "computedOffset", "easing", "composite"]);
/** These make of an element, and all that is in it, one picture. */
const GROUPING = /^(?:filter|backdropFilter|mask|perspective)/u;

/** An element is a stacking context while one of these is animated, whatever its value. */
const CONTEXT = new Set([
  ...["transform", "translate", "rotate", "scale", "opacity", "clipPath"],
  ...["filter", "backdropFilter"],
]);

/** Whether an inline style, by its name in style sheets, only moves a finished picture. */
export function isPlacing(name: string): boolean {
  const camel = name.replace(/-(\w)/gu, (_, letter: string) => letter.toUpperCase());
  return PLACED.has(camel) || camel === "transformOrigin";
}

export interface Effects {
  /** Whether it moves, fades or hides a picture. */
  readonly places: boolean;
  /** Properties that change how an element is drawn, each once. */
  readonly redrawn: readonly string[];
  /** Whether one of these makes a single picture of all that is inside. */
  readonly groups: boolean;
  /** Whether it makes a stacking context of the element. */
  readonly makesContext: boolean;
  /** Whether it does so at any time: a mask does only while it has a value. */
  readonly holdsContext: boolean;
}

export function effectsOf(keyframes: readonly object[]): Effects {
  const names = new Set(keyframes.flatMap((keyframe) => Object.keys(keyframe)));
  const redrawn = [...names].filter((name) => !PLACED.has(name) && !OWN.has(name));
  const groups = redrawn.some((name) => GROUPING.test(name));
  const holdsContext = [...names].some((name) => CONTEXT.has(name));
  return {
    places: [...names].some((name) => PLACED.has(name)),
    redrawn,
    groups,
    makesContext: groups || holdsContext,
    holdsContext,
  };
}
