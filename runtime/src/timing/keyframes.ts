/** Where the keyframes of an animation change nothing. Knows no DOM. */

/** What keyframes have besides the values of properties. */
const NO_PROPERTIES = new Set(["offset", "computedOffset", "easing", "composite"]);

/** The part of an animation, from `progress` on, in which no property changes. */
export function stillPart(keyframes: readonly ComputedKeyframe[], progress: number): number {
  const names = new Set(keyframes.flatMap((each) => Object.keys(each)));
  const ends = [...names]
    .filter((name) => !NO_PROPERTIES.has(name))
    .map((name) => {
      const own = keyframes.filter((each) => name in each);
      const after = own.findIndex(({ computedOffset }) => computedOffset > progress);
      const [from, to] = [own[after - 1], own[after]];
      if (from === undefined || to === undefined) return progress;
      const isStill = from[name] === to[name] || from.easing === "steps(1)";
      return isStill ? to.computedOffset : progress;
    });
  return ends.length === 0 ? 0 : Math.min(...ends) - progress;
}
