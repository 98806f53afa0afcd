/**
 * Hides rectangles of a picture as the render does: behind a smooth surface made only of the pixels
 * around them. It follows `compositor/fill` and `engine/redaction`; both are tested with the same
 * cases. The render fills luma and chroma, and a preview red, green and blue: as the surface is
 * linear in the pixels, the result is the same up to rounding.
 */

export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Bytes of red, green, blue and opacity. */
export interface Pixels {
  data: Uint8ClampedArray | Uint8Array;
  width: number;
  height: number;
}

/** Pixels outside a rectangle that are looked at. */
export const RING_PX = 8;
const CELLS = 6;
const GREY = 128;
const BYTES = 4;

/** Fills rectangles, which may overlap or touch, so that none is filled from another. */
export function hideAll(pixels: Pixels, rects: readonly Rect[]): void {
  if (rects.length > 1) {
    for (const rect of rects) blank(pixels, rect);
    for (const rect of rects) hide(pixels, rect);
  }
  for (const rect of rects) hide(pixels, rect);
}

function blank({ data, width }: Pixels, { left, top, right, bottom }: Rect): void {
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) data.fill(GREY, at(width, x, y), at(width, x, y) + 3);
  }
}

function hide(pixels: Pixels, rect: Rect): void {
  if (rect.right <= rect.left || rect.bottom <= rect.top) return;
  for (const channel of [0, 1, 2]) fill(pixels, rect, channel);
}

function fill(pixels: Pixels, rect: Rect, channel: number): void {
  const { data, width, height } = pixels;
  const { left, top, right, bottom } = rect;
  const [across, down] = [right - left, bottom - top];
  const row = (from: number, until: number) =>
    coarse(across, from, until, (along, y) => data[at(width, left + along, y) + channel]!);
  const column = (from: number, until: number) =>
    coarse(down, from, until, (along, x) => data[at(width, x, top + along) + channel]!);
  let [above, below] = pair(
    row(Math.max(0, top - RING_PX), top),
    row(bottom, Math.min(height, bottom + RING_PX)),
  );
  let [before, after] = pair(
    column(Math.max(0, left - RING_PX), left),
    column(right, Math.min(width, right + RING_PX)),
  );
  // A rectangle that spans the whole picture has neighbours on one axis only.
  if (above === null || below === null) above = below = flat(before, after, across);
  if (before === null || after === null) before = after = flat(above, below, down);
  const surface = coons(above, below, before, after);
  for (let y = 0; y < down; y++) {
    for (let x = 0; x < across; x++) {
      const value = Math.floor(surface(x, y) + 0.5);
      data[at(width, left + x, top + y) + channel] = Math.max(0, Math.min(255, value));
    }
  }
}

function at(width: number, x: number, y: number): number {
  return BYTES * (y * width + x);
}

type Edge = Float64Array;

/** The mean colours along a strip, too few to show any detail; null if the strip is empty. */
function coarse(
  length: number,
  from: number,
  until: number,
  read: (along: number, ring: number) => number,
): Edge | null {
  if (until <= from) return null;
  const line = Float64Array.from({ length }, (_, along) => {
    let sum = 0;
    for (let ring = from; ring < until; ring++) sum += read(along, ring);
    return sum / (until - from);
  });
  return stretched(averaged(line, Math.min(CELLS, length)), length);
}

/** Fewer values: each is the mean of its part of the line. */
function averaged(line: Edge, count: number): Edge {
  const part = line.length / count;
  return Float64Array.from({ length: count }, (_, cell) => {
    const [from, until] = [cell * part, (cell + 1) * part];
    let sum = 0;
    for (let each = Math.floor(from); each < Math.min(line.length, Math.ceil(until)); each++) {
      sum += line[each]! * (Math.min(until, each + 1) - Math.max(from, each));
    }
    return sum / part;
  });
}

/** More values, by linear interpolation between the middles of the given ones. */
function stretched(few: Edge, length: number): Edge {
  const scale = few.length / length;
  return Float64Array.from({ length }, (_, along) => {
    const place = Math.max(0, Math.min(few.length - 1, (along + 0.5) * scale - 0.5));
    const low = Math.min(Math.floor(place), few.length - 1);
    const high = Math.min(low + 1, few.length - 1);
    return few[low]! + (place - low) * (few[high]! - few[low]!);
  });
}

/** Two opposite edges; at the border of the picture, both are the one that exists. */
function pair(one: Edge | null, other: Edge | null): [Edge | null, Edge | null] {
  return [one ?? other, other ?? one];
}

function flat(one: Edge | null, other: Edge | null, length: number): Edge {
  const known = [one, other].flatMap((edge) =>
    edge === null ? [] : [edge.reduce((sum, each) => sum + each, 0) / edge.length],
  );
  const mean = known.length > 0 ? known.reduce((sum, each) => sum + each) / known.length : GREY;
  return new Float64Array(length).fill(mean);
}

function coons(top: Edge, bottom: Edge, left: Edge, right: Edge): (x: number, y: number) => number {
  const last = (edge: Edge): number => edge[edge.length - 1]!;
  const corners = [
    (top[0]! + left[0]!) / 2,
    (last(top) + right[0]!) / 2,
    (bottom[0]! + last(left)) / 2,
    (last(bottom) + last(right)) / 2,
  ] as const;
  const part = (value: number, edge: Edge): number =>
    edge.length > 1 ? value / (edge.length - 1) : 0;
  return (x, y) => {
    const [u, v] = [part(x, top), part(y, left)];
    const corner =
      (1 - u) * (1 - v) * corners[0] +
      u * (1 - v) * corners[1] +
      (1 - u) * v * corners[2] +
      u * v * corners[3];
    return (1 - v) * top[x]! + v * bottom[x]! + (1 - u) * left[y]! + u * right[y]! - corner;
  };
}
