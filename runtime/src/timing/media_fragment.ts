/** The part of a source that the end of its address names: `clip.mp4#t=1,3`. Knows no DOM. */

export interface MediaFragment {
  readonly startMs: number;
  /** Null when it goes to the end of the source. */
  readonly endMs: number | null;
}

/** Of addresses that say nothing. */
export const WHOLE: MediaFragment = { startMs: 0, endMs: null };
const RANGE = /^(?:npt:)?([\d:.]*)(?:,([\d:.]+))?$/u;
const TIME = /^(?:(?:(\d+):)?([0-5]\d):)?(\d+(?:\.\d*)?)$/u;

/** Split an address into that of the source and what its `t` says; the last one that is valid. */
export function splitFragment(address: string): { url: string; fragment: MediaFragment } {
  const [url = "", ...rest] = address.split("#");
  let fragment = WHOLE;
  for (const pair of rest.join("#").split("&")) {
    const [name, value = ""] = pair.split("=", 2).map(decoded);
    if (name === "t") fragment = readRange(value) ?? fragment;
  }
  return { url, fragment };
}

function readRange(text: string): MediaFragment | null {
  const [, start = "", end] = RANGE.exec(text) ?? [];
  const startMs = start === "" && end !== undefined ? 0 : readMs(start);
  if (startMs === null) return null;
  if (end === undefined) return { startMs, endMs: null };
  const endMs = readMs(end);
  return endMs === null || endMs <= startMs ? null : { startMs, endMs };
}

function readMs(text: string): number | null {
  const found = TIME.exec(text);
  if (found === null) return null;
  const [hours = 0, minutes = 0, seconds = 0] = found.slice(1).map((part) => Number(part ?? 0));
  if (found[2] !== undefined && seconds >= 60) return null;
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
