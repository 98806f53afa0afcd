/**
 * `<use>` elements that show something with CSS animations.
 *
 * What they show are copies, and scripts cannot reach animations of these: they begin when their
 * `<use>` is first drawn, and cannot be put at a time.
 */

export function animatedUses(): SVGUseElement[] {
  return [...document.querySelectorAll("use")].filter(showsAnimation);
}

export function showsAnimation(use: SVGUseElement): boolean {
  const shown = document.getElementById(use.href.baseVal.replace(/^.*#/u, ""));
  if (shown === null) return false;
  return [shown, ...shown.querySelectorAll("*")].some(
    (each) => getComputedStyle(each).animationName !== "none",
  );
}
