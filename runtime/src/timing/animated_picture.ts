/** Which picture of an animated image is on, by time. Knows no DOM. */

export interface AnimatedPicture {
  /** Where each picture ends, from the start of a run. */
  readonly endsMs: readonly number[];
  /** How often it runs; null is for ever. After its last run the last picture stays. */
  readonly plays: number | null;
}

/** Sums of fractions are never exact. */
const SAME_MS = 1e-6;

export function pictureAt({ endsMs, plays }: AnimatedPicture, sinceMs: number): number {
  const last = endsMs.length - 1;
  const runMs = endsMs[last] ?? 0;
  const atMs = Math.max(0, sinceMs) + SAME_MS;
  if (runMs <= 0 || (plays !== null && atMs >= plays * runMs)) return last;
  const number = endsMs.findIndex((endMs) => endMs > atMs % runMs);
  return number === -1 ? last : number;
}

/** How many characters of a data address are looked at: enough for all that stands in front. */
const SCANNED_CHARACTERS = 4096;
/** Chromium refuses longer addresses, in which it is handed over. */
const MAX_ADDRESS_CHARS = 1_500_000;

/** Whether a picture in a data address begins like one that may move. */
export function mayMove(address: string): boolean {
  const match = /^data:image\/[a-z0-9.+-]+;base64,/i.exec(address);
  if (match === null || address.length > MAX_ADDRESS_CHARS) return false;
  const written = address.slice(match[0].length, match[0].length + SCANNED_CHARACTERS);
  const head = decoded(written.replace(/\s/g, ""));
  if (head.startsWith("GIF8")) return true;
  if (head.startsWith("\x89PNG")) return head.includes("acTL");
  if (head.startsWith("RIFF")) return head.includes("ANIM");
  return head.slice(4, 12) === "ftypavis";
}

/** Whether a data address is a drawing with animations in it. */
export function isMovingDrawing(address: string): boolean {
  const match = /^data:image\/svg\+xml([^,]*),/i.exec(address);
  if (match === null) return false;
  const [start, parameters = ""] = match;
  const written = address.slice(start.length);
  const text = /;base64$/i.test(parameters) ? decoded(written) : unescaped(written);
  return /<(?:animate|set)|@(?:-webkit-)?keyframes/i.test(text);
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function decoded(base64: string): string {
  try {
    return atob(base64.slice(0, base64.length - (base64.length % 4)));
  } catch {
    return "";
  }
}
