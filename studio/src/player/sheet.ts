/** Where things are in a thumbnail sheet and a waveform of the service. Pure. */

const COLUMNS = 10;
const MAX_TILES = 100;

export interface Tile {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The thumbnail for an instant: tile n shows the frame at n / count of the duration. */
export function tileAt(
  seconds: number,
  durationS: number,
  sheet: { width: number; height: number },
): Tile {
  const count = Math.min(MAX_TILES, Math.max(1, Math.ceil(durationS)));
  const columns = Math.min(COLUMNS, count);
  const [width, height] = [sheet.width / columns, sheet.height / Math.ceil(count / columns)];
  const number = Math.max(0, Math.min(count - 1, Math.floor((seconds / durationS) * count)));
  return { x: (number % columns) * width, y: Math.floor(number / columns) * height, width, height };
}

/** The form of `audiowaveform`: the lowest and the highest of each span, one after the other. */
export interface Waveform {
  bits: number;
  data: number[];
}

/** The loudness, from 0 to 1, of equal parts of the sound. */
export function loudness({ bits, data }: Waveform, parts: number): number[] {
  const [count, full] = [data.length / 2, 2 ** (bits - 1) - 1];
  return Array.from({ length: parts }, (_, part) => {
    const first = Math.floor((part / parts) * count);
    const end = Math.max(first + 1, Math.floor(((part + 1) / parts) * count));
    let highest = 0;
    for (let at = 2 * first; at < Math.min(2 * end, data.length); at += 1) {
      highest = Math.max(highest, Math.abs(data[at]!) / full);
    }
    return Math.min(1, highest);
  });
}

/** "1:02"; "1:00:02". */
export function clockTime(seconds: number): string {
  const whole = Number.isFinite(seconds) ? Math.max(0, Math.floor(seconds)) : 0;
  const parts = [Math.floor(whole / 60) % 60, whole % 60];
  if (whole >= 3600) parts.unshift(Math.floor(whole / 3600));
  return parts
    .map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, "0")))
    .join(":");
}

/** Whether an address is a playlist: a stream link or anything that ends with .m3u8. */
export function isPlaylist(address: string): boolean {
  const { pathname } = new URL(address, "https://host.invalid");
  return pathname.endsWith(".m3u8") || pathname.endsWith("/stream");
}
