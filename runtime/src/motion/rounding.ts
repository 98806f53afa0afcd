/** The rounded corners to which a box cuts off what is in it. */

/** The radius inside its borders, if all corners are the same; null if not. */
export function roundingOf(element: Element): number | null {
  const style = getComputedStyle(element);
  // Replaced elements are cut to their content.
  if (!/^(?:0px|content-box)$/u.test(style.overflowClipMargin)) return null;
  const { clientWidth, clientHeight } = element;
  const found = /^([\d.e-]+)(px|%)$/u.exec(style.borderRadius);
  if (found === null) return null;
  const number = Number(found[1]);
  if (number === 0) return 0;
  const borders = new Set(
    ["top", "right", "bottom", "left"].map((side) =>
      Number.parseFloat(style.getPropertyValue(`border-${side}-width`)),
    ),
  );
  const [border = 0] = borders;
  if (borders.size !== 1) return null;
  const [width, height] = [clientWidth + 2 * border, clientHeight + 2 * border];
  if (found[2] === "%" && Math.abs(width - height) > 0.5) return null;
  const radius = found[2] === "%" ? (number / 100) * width : number;
  return Math.max(0, Math.min(radius, width / 2, height / 2) - border);
}
