/** What the preview server says about the composition, and the exact time of its frames. */

export interface Track {
  kind: "group" | "clip" | "text" | "sound" | "layer";
  name: string;
  depth: number;
  start_ms: number;
  end_ms: number;
  selector: string | null;
}

export interface Film {
  id: number;
  name: string;
  state: "rendering" | "complete" | "failed" | "cancelled";
  done: number;
  count: number;
  message: string | null;
}

export interface CompositionProblem {
  code: string;
  message: string;
  file: string | null;
  line: number | null;
  warnings: string[];
}

export interface Composition {
  version: string;
  name: string;
  kind: "page" | "config" | "template" | null;
  width: number;
  height: number;
  fps: string;
  frame_count: number;
  duration_ms: number;
  tracks: Track[];
  warnings: string[];
  console: { level: string; text: string }[];
  data: Record<string, unknown> | null;
  data_schema: Record<string, unknown> | null;
  has_sound: boolean | null;
  is_declarative: boolean;
  cached: [first: number, last: number][];
  error: CompositionProblem | null;
  film: Film | null;
}

/** A frame rate as a fraction. */
export interface Rate {
  numerator: number;
  denominator: number;
}

export function readRate(text: string): Rate {
  const [numerator = 30, denominator = 1] = text.split("/").map(Number);
  return { numerator, denominator };
}

/** The instant of a frame, from the fraction. */
export function secondsOf(frame: number, { numerator, denominator }: Rate): number {
  return (frame * denominator) / numerator;
}

/** The frame that is shown at an instant of the film. */
export function frameAt(seconds: number, rate: Rate): number {
  const frame = Math.floor((seconds * rate.numerator) / rate.denominator);
  // The instant of a frame may have been rounded down.
  return secondsOf(frame + 1, rate) <= seconds ? frame + 1 : frame;
}

/** Frames that pass in a time; counted from the start, never added up. */
export function framesIn(elapsedSeconds: number, speed: number, rate: Rate): number {
  return Math.max(0, Math.floor((elapsedSeconds * speed * rate.numerator) / rate.denominator));
}

/** "1:02.500". */
export function clockText(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const minutes = Math.floor(ms / 60_000);
  const rest = ((ms % 60_000) / 1000).toFixed(3);
  return `${minutes}:${rest.padStart(6, "0")}`;
}

/** Errors of the server have a message for people. */
export async function send(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (response.ok) return response.status === 204 ? null : await response.json();
  throw new Error(await messageOf(response));
}

export async function messageOf(response: Response): Promise<string> {
  try {
    const { message } = (await response.json()) as { message: string };
    return message;
  } catch {
    return `the preview answered ${response.status}`;
  }
}
