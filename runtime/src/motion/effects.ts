/** Which animated properties only move a finished picture, and which draw another one. No DOM. */

const PLACED = new Set([
  ...["transform", "translate", "rotate", "scale", "opacity", "visibility", "clipPath"],
]);
/** What a keyframe says about itself. */
const OWN = new Set(["offset", "computedOffset", "easing", "composite"]);

/** Properties of keyframes that change how an element is drawn, each once. */
export function redrawnProperties(keyframes: readonly object[]): string[] {
  const names = new Set(keyframes.flatMap((keyframe) => Object.keys(keyframe)));
  return [...names].filter((name) => !PLACED.has(name) && !OWN.has(name));
}
