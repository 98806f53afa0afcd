/** Reads what authors write as a time. Knows no DOM. */

const UNIT_MS: Readonly<Record<string, number>> = {
  "": 1,
  ms: 1,
  s: 1000,
  sec: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

const TIME = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)$/;

/** How a time is written, for whoever wrote something else. */
export const TIME_FORMS = "write 3s, 500ms, 2m, 1h, or a bare number of milliseconds";

/** `5s`, `500ms`, `2.5s`, `2m`, `1min`, `1h`, or a bare number of milliseconds; null if neither. */
export function parseTimeMs(text: string | null | undefined): number | null {
  const match = TIME.exec((text ?? "").trim().toLowerCase());
  const unitMs = UNIT_MS[match?.[2] ?? "?"];
  if (match === null || unitMs === undefined) return null;
  const ms = Number(match[1]) * unitMs;
  return Number.isFinite(ms) ? ms : null;
}

const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(?:px|deg|fps)?$/;

/** A number, perhaps with the unit that it has anyway; null for anything else, such as `50%`. */
export function parseNumber(text: string | null | undefined): number | null {
  const match = NUMBER.exec((text ?? "").trim().toLowerCase());
  const value = Number(match?.[1] ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

/** The spellings of one attribute: `source-in` is also written `sourcein` and `sourceIn`. */
export function spellings(kebab: string): readonly string[] {
  const joined = kebab.replaceAll("-", "");
  return joined === kebab ? [kebab] : [joined, kebab];
}
