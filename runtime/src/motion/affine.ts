/** Plane transforms as CSS writes them, as matrices of six numbers. Knows no DOM. */

export type Affine = readonly [number, number, number, number, number, number];

export const IDENTITY: Affine = [1, 0, 0, 1, 0, 0];

/** First `second`, then `first`: the order in which CSS lists transforms. */
export function multiply(first: Affine, second: Affine): Affine {
  const [a, b, c, d, e, f] = first;
  const [p, q, r, s, t, u] = second;
  return [
    a * p + c * q,
    b * p + d * q,
    a * r + c * s,
    b * r + d * s,
    a * t + c * u + e,
    b * t + d * u + f,
  ];
}

export function translation(x: number, y: number): Affine {
  return [1, 0, 0, 1, x, y];
}

/** The transform with its origin at that point. */
export function about(transform: Affine, x: number, y: number): Affine {
  return multiply(multiply(translation(x, y), transform), translation(-x, -y));
}

/** The computed `transform`; null with perspective. Without it, depth does not show. */
export function parseTransform(value: string): Affine | null {
  if (value === "none") return IDENTITY;
  const numbers = (/^matrix(?:3d)?\((.*)\)$/u.exec(value)?.[1] ?? "").split(",").map(Number);
  if (numbers.some((number) => !Number.isFinite(number))) return null;
  if (numbers.length === 6) return numbers as unknown as Affine;
  if (numbers.length !== 16) return null;
  const at = (index: number): number => numbers[index] ?? 0;
  if (at(3) !== 0 || at(7) !== 0 || at(11) !== 0 || at(15) !== 1) return null;
  return [at(0), at(1), at(4), at(5), at(12), at(13)];
}

/** The computed `translate` of a box of that size; null if it cannot be read. */
export function parseTranslate(value: string, widthPx: number, heightPx: number): Affine | null {
  if (value === "none") return IDENTITY;
  const [x = "0px", y = "0px"] = value.split(" ");
  const across = lengthOf(x, widthPx);
  const down = lengthOf(y, heightPx);
  return across === null || down === null ? null : translation(across, down);
}

/** The computed `rotate`; null for any axis but the one that points at the viewer. */
export function parseRotate(value: string): Affine | null {
  if (value === "none") return IDENTITY;
  const turn = /^(?:z |0 0 1 )?(-?[\d.e-]+)deg$/u.exec(value);
  if (turn === null) return null;
  const radians = (Number(turn[1]) * Math.PI) / 180;
  const [cos, sin] = [Math.cos(radians), Math.sin(radians)];
  return [cos, sin, -sin, cos, 0, 0];
}

/** The computed `scale`; null if it cannot be read. */
export function parseScale(value: string): Affine | null {
  if (value === "none") return IDENTITY;
  const [x = Number.NaN, y = x] = value.split(" ").map(Number);
  return Number.isFinite(x) && Number.isFinite(y) ? [x, 0, 0, y, 0, 0] : null;
}

function lengthOf(text: string, wholePx: number): number | null {
  const found = /^(-?[\d.e-]+)(px|%)$/u.exec(text);
  if (found === null) return null;
  const number = Number(found[1]);
  return found[2] === "%" ? (number / 100) * wholePx : number;
}
