/**
 * The position of a clip in its source: past, present and future. Knows no DOM.
 *
 * A new course begins whenever a clip is played, stopped or sought, or its speed changes. So what was
 * heard until now, and what will be heard if nothing changes any more, is known at any time.
 */

interface Course {
  readonly atMs: number;
  readonly positionMs: number;
  /** Source time for each unit of time; 0 while it stands still. */
  readonly rate: number;
  readonly keepsPitch: boolean;
}

/** What bounds a clip: the length of its source, and whether it begins again there. */
export interface Bounds {
  readonly lengthMs: number;
  readonly isLooped: boolean;
}

/** A range of the source that is played without a break. */
export interface Piece {
  readonly startMs: number;
  readonly endMs: number;
  /** Source time at startMs. */
  readonly sourceInMs: number;
  readonly rate: number;
  readonly keepsPitch: boolean;
}

const STILL: Course = { atMs: 0, positionMs: 0, rate: 0, keepsPitch: true };

export class PlayHead {
  private readonly courses: Course[] = [STILL];

  /** Go on from `atMs` in another way; what is not given stays as it is. */
  turn(atMs: number, change: Partial<Omit<Course, "atMs">>, bounds: Bounds | null): void {
    const before = this.current;
    const isSame = before.rate === (change.rate ?? before.rate);
    const sounds = before.keepsPitch === (change.keepsPitch ?? before.keepsPitch);
    if (change.positionMs === undefined && isSame && sounds) return;
    const positionMs = change.positionMs ?? this.positionMs(atMs, bounds);
    const next = { ...before, ...change, atMs, positionMs };
    if (atMs <= before.atMs) this.courses.pop();
    this.courses.push(next);
  }

  positionMs(atMs: number, bounds: Bounds | null): number {
    const { current } = this;
    const freeMs = current.positionMs + Math.max(0, atMs - current.atMs) * current.rate;
    if (bounds === null || bounds.lengthMs <= 0) return Math.max(0, freeMs);
    // One that stands on its end has not begun again.
    if (!bounds.isLooped || current.rate === 0) return Math.min(freeMs, bounds.lengthMs);
    return freeMs % bounds.lengthMs;
  }

  /** When it comes to the end of the source as it goes now; null if it never does. */
  endMs({ lengthMs }: Bounds): number | null {
    const { atMs, positionMs, rate } = this.current;
    return rate > 0 ? atMs + Math.max(0, lengthMs - positionMs) / rate : null;
  }

  /** All that is played until `untilMs`. */
  pieces(bounds: Bounds, untilMs: number): Piece[] {
    const { courses } = this;
    const pieces: Piece[] = [];
    courses.forEach((course, i) => {
      const next = courses[i + 1];
      const endMs = Math.min(untilMs, next?.atMs ?? untilMs);
      pieces.push(...turnsOf(course, bounds, endMs, next === undefined));
    });
    return pieces;
  }

  private get current(): Course {
    return this.courses[this.courses.length - 1] as Course;
  }
}

/** One piece for each time that the source is played; only what lasts is repeated. */
function turnsOf(course: Course, bounds: Bounds, endMs: number, isLast: boolean): Piece[] {
  const { rate, keepsPitch } = course;
  if (rate <= 0 || bounds.lengthMs <= 0) return [];
  const pieces: Piece[] = [];
  let startMs = course.atMs;
  let sourceInMs = course.positionMs;
  while (startMs < endMs) {
    const overMs = startMs + (bounds.lengthMs - sourceInMs) / rate;
    const piece = { startMs, endMs: Math.min(overMs, endMs), sourceInMs, rate, keepsPitch };
    if (piece.endMs > piece.startMs) pieces.push(piece);
    if (!isLast || !bounds.isLooped || endMs === Number.POSITIVE_INFINITY) break;
    startMs = overMs;
    sourceInMs = 0;
  }
  return pieces;
}
