/** Where `object-fit` and `object-position` put a picture in its box. Knows no DOM. */

import type { Box } from "./boxes.ts";

/** Null for a position that cannot be read. */
export function fitPicture(
  [left, top, right, bottom]: Box,
  [width, height]: readonly [number, number],
  fit: string,
  position: string,
): Box | null {
  const [boxWidth, boxHeight] = [right - left, bottom - top];
  const [across, down] = [boxWidth / width, boxHeight / height];
  const [x, y] = scales(fit, across, down);
  const [shownWidth, shownHeight] = [width * x, height * y];
  const [first = "50%", second = "50%"] = position.split(" ");
  const before = offset(first, boxWidth - shownWidth);
  const above = offset(second, boxHeight - shownHeight);
  if (before === null || above === null) return null;
  return [left + before, top + above, left + before + shownWidth, top + above + shownHeight];
}

function scales(fit: string, across: number, down: number): readonly [number, number] {
  const least = Math.min(across, down);
  const most = Math.max(across, down);
  const one = { contain: least, cover: most, none: 1, "scale-down": Math.min(1, least) }[fit];
  return one === undefined ? [across, down] : [one, one];
}

function offset(text: string, roomPx: number): number | null {
  const found = /^(-?[\d.e-]+)(px|%)$/u.exec(text);
  if (found === null) return null;
  return found[2] === "%" ? (Number(found[1]) / 100) * roomPx : Number(found[1]);
}
