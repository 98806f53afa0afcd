/** How content is moved and scaled to fit a box: whole, in its proportions, in the middle. */

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Move {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/** The smallest box around all that have an area; null without one. */
export function around(boxes: readonly Box[]): Box | null {
  const seen = boxes.filter((box) => box.width > 0 && box.height > 0);
  if (seen.length === 0) return null;
  const x = Math.min(...seen.map((box) => box.x));
  const y = Math.min(...seen.map((box) => box.y));
  const right = Math.max(...seen.map((box) => box.x + box.width));
  const bottom = Math.max(...seen.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** The move that fits `content` into a box at 0, 0. What is `written` stays as it is. */
export function fit(
  box: { readonly width: number; readonly height: number },
  content: Box,
  written: Partial<Move>,
): Move {
  const scale = written.scale ?? Math.min(box.width / content.width, box.height / content.height);
  return {
    x: written.x ?? (box.width - content.width * scale) / 2 - content.x * scale,
    y: written.y ?? (box.height - content.height * scale) / 2 - content.y * scale,
    scale,
  };
}
