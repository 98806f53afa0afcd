/**
 * The page's clock, exact.
 *
 * The renderer moves two clocks: frame ticks (CSS, requestAnimationFrame, SMIL) and virtual time
 * (timers, performance.now, Date). Both stand still while the page loads. What Chromium shows of
 * them to scripts is blurred by up to 0.1 ms with a random secret, so the same page would read
 * other times in every run. Here each reading is snapped back to the instant it must be: the time
 * of a frame, or a whole number of milliseconds after a timer was set.
 */

export interface FrameRate {
  readonly numerator: number;
  readonly denominator: number;
}

/** What both clocks show at frame 0. */
export interface Zero {
  readonly virtualMs: number;
  readonly tickMs: number;
}

/** More than Chromium's blur, far less than the distance of two frames at 120 fps. */
const SLACK_MS = 0.25;

export function frameTimeMs(frame: number, rate: FrameRate): number {
  return (frame * 1000 * rate.denominator) / rate.numerator;
}

/** Chromium's frame ticks lie on a grid of 0.1 ms; a half is rounded to the even side. */
export function frameTickMs(exactMs: number): number {
  const tenths = Math.round(exactMs * 1000) / 100;
  const whole = Math.floor(tenths);
  const isHalf = tenths - whole === 0.5;
  return (isHalf ? whole + (whole % 2) : Math.round(tenths)) / 10;
}

/** The frame instant next to `roughMs`, or null when none is near. */
export function snapToFrame(roughMs: number, rate: FrameRate): number | null {
  // The + 0 turns -0 (a reading just before frame 0) into 0.
  const frame = Math.round((roughMs * rate.numerator) / (1000 * rate.denominator)) + 0;
  const exactMs = frameTimeMs(frame, rate);
  return frame >= 0 && Math.abs(exactMs - roughMs) <= SLACK_MS ? exactMs : null;
}

/** The whole number of milliseconds after `sinceMs` next to `roughMs`, or null when none is near. */
export function snapToTimer(roughMs: number, sinceMs: number): number | null {
  const exactMs = sinceMs + Math.round(roughMs - sinceMs);
  return Math.abs(exactMs - roughMs) <= SLACK_MS ? exactMs : null;
}

/** The renderer moves its clocks by whole tenths of a millisecond. */
function toTenth(roughMs: number): number {
  return Math.round(roughMs * 10) / 10;
}

export class ExactClock {
  private readonly nativeNow: () => number;
  /** Unknown until frame 0: while the page loads there are no frames to snap to. */
  private rate: FrameRate | null = null;
  /** The exact instant at which scripts are running now, as far as known. */
  private knownMs = 0;
  private zero: Zero = { virtualMs: 0, tickMs: 0 };

  constructor(nativeNow: () => number) {
    this.nativeNow = nativeNow;
  }

  now(): number {
    const roughMs = this.nativeNow() - this.zero.virtualMs;
    if (Math.abs(roughMs - this.knownMs) <= SLACK_MS) return this.knownMs;
    const exactMs = this.snap(roughMs);
    if (exactMs !== null) this.knownMs = exactMs;
    return exactMs ?? toTenth(roughMs);
  }

  /** Called as a frame begins, with Chromium's blurred stamp. */
  enterFrame(roughMs: number): number {
    const sinceMs = roughMs - this.zero.tickMs;
    // A still may be taken between two frames.
    if (this.rate !== null) this.knownMs = this.snap(sinceMs) ?? toTenth(sinceMs);
    return this.knownMs;
  }

  /** Called as a timer fires that was set at the exact instant `setAtMs`. */
  enterTimer(setAtMs: number): number {
    const roughMs = this.nativeNow() - this.zero.virtualMs;
    this.knownMs = snapToTimer(roughMs, setAtMs) ?? this.now();
    return this.knownMs;
  }

  /** Called between two frames, at an instant that the renderer knows exactly. */
  enterInstant(exactMs: number): void {
    this.knownMs = this.snap(exactMs) ?? exactMs;
  }

  /** Frame 0 comes next: what has passed until here does not count. */
  begin(zero: Zero, rate: FrameRate): void {
    this.rate = rate;
    this.zero = zero;
    this.knownMs = 0;
  }

  private snap(roughMs: number): number | null {
    return this.rate === null ? null : snapToFrame(roughMs, this.rate);
  }
}
