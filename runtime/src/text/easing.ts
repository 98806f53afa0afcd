/** CSS easing functions as functions of a number. Pure. */

export type Easing = (progress: number) => number;

const KEYWORDS: Readonly<Record<string, string>> = {
  ease: "cubic-bezier(0.25, 0.1, 0.25, 1)",
  "ease-in": "cubic-bezier(0.42, 0, 1, 1)",
  "ease-out": "cubic-bezier(0, 0, 0.58, 1)",
  "ease-in-out": "cubic-bezier(0.42, 0, 0.58, 1)",
  "step-start": "steps(1, jump-start)",
  "step-end": "steps(1, jump-end)",
};

/** The easing that `text` names, or null when it is none. */
export function parseEasing(text: string): Easing | null {
  const value = text.trim().toLowerCase();
  if (value === "linear") return (progress) => progress;
  const [, name, list] = /^([a-z-]+)\((.*)\)$/su.exec(KEYWORDS[value] ?? value) ?? [];
  const parts = (list ?? "").split(",").map((part) => part.trim());
  if (name === "cubic-bezier") return parseBezier(parts);
  if (name === "steps") return parseSteps(parts);
  if (name === "linear") return parseLinear(parts);
  return null;
}

function parseBezier(parts: string[]): Easing | null {
  const numbers = parts.map(Number);
  const [x1, y1, x2, y2] = numbers;
  if (numbers.length !== 4 || !numbers.every(Number.isFinite)) return null;
  if (x1 === undefined || y1 === undefined || x2 === undefined || y2 === undefined) return null;
  if (x1 < 0 || x1 > 1 || x2 < 0 || x2 > 1) return null;
  return (progress) => {
    if (progress <= 0 || progress >= 1) return progress;
    return along(y1, y2, solve(x1, x2, progress));
  };
}

/** One coordinate of the curve from 0 to 1 at the parameter `t`. */
function along(first: number, second: number, t: number): number {
  const u = 1 - t;
  return 3 * u * u * t * first + 3 * u * t * t * second + t * t * t;
}

/** The parameter at which x is `x`. x grows with t, so halving always finds it. */
function solve(x1: number, x2: number, x: number): number {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 52; i += 1) {
    const middle = (low + high) / 2;
    if (along(x1, x2, middle) < x) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

const JUMPS: Readonly<Record<string, { first: number; more: number }>> = {
  "jump-start": { first: 1, more: 0 },
  start: { first: 1, more: 0 },
  "jump-end": { first: 0, more: 0 },
  end: { first: 0, more: 0 },
  "jump-both": { first: 1, more: 1 },
  "jump-none": { first: 0, more: -1 },
};

function parseSteps(parts: string[]): Easing | null {
  const count = Number(parts[0]);
  const jump = JUMPS[parts[1] ?? "jump-end"];
  if (!Number.isInteger(count) || count < 1 || jump === undefined || parts.length > 2) return null;
  const jumps = count + jump.more;
  if (jumps < 1) return null;
  return (progress) => {
    const step = Math.floor(progress * count) + jump.first;
    return Math.min(Math.max(step, 0), jumps) / jumps;
  };
}

interface Stop {
  readonly output: number;
  input: number | null;
}

function parseLinear(parts: string[]): Easing | null {
  const stops = parts.flatMap(parseStop);
  if (stops.length < 2 || stops.some((stop) => !Number.isFinite(stop.output))) return null;
  placeStops(stops);
  return (progress) => interpolate(stops, progress);
}

/** `0.5`, `0.5 20%` or `0.5 20% 60%`. */
function parseStop(part: string): Stop[] {
  const words = part.split(/\s+/u);
  const inputs = words.filter((word) => word.endsWith("%")).map((word) => Number.parseFloat(word));
  const outputs = words.filter((word) => !word.endsWith("%"));
  const output = outputs.length === 1 && outputs[0] !== "" ? Number(outputs[0]) : Number.NaN;
  if (inputs.length === 0) return [{ output, input: null }];
  return inputs.map((input) => ({ output, input: input / 100 }));
}

/** Ends go to 0 and 1, inputs never fall, and the ones left out are spread evenly. */
function placeStops(stops: Stop[]): void {
  const first = stops[0] as Stop;
  const last = stops[stops.length - 1] as Stop;
  first.input ??= 0;
  last.input ??= Math.max(1, ...stops.map((stop) => stop.input ?? 0));
  let highest = 0;
  for (const stop of stops) {
    if (stop.input === null) continue;
    highest = Math.max(highest, stop.input);
    stop.input = highest;
  }
  stops.forEach((stop, i) => {
    if (stop.input !== null) return;
    const before = stops[i - 1]?.input ?? 0;
    const next = stops.findIndex((later, j) => j > i && later.input !== null);
    stop.input = before + ((stops[next]?.input ?? 1) - before) / (next - i + 1);
  });
}

function interpolate(stops: readonly Stop[], progress: number): number {
  let right = stops.findIndex((stop) => (stop.input ?? 0) > progress);
  if (right < 0) right = stops.length - 1;
  const from = stops[Math.max(0, right - 1)] as Stop;
  const to = stops[Math.max(1, right)] as Stop;
  const width = (to.input ?? 0) - (from.input ?? 0);
  if (width === 0) return to.output;
  return from.output + ((progress - (from.input ?? 0)) / width) * (to.output - from.output);
}
