/**
 * The clock of one AudioContext: what time it shows, and which of its samples are heard where in
 * the film. Pure: the film's time is a parameter.
 *
 * A context counts samples of its own and renders whole quanta of them. It stands still while it is
 * suspended, so the same sample number may be heard anywhere later in the film.
 */

/** Samples that Web Audio renders at once. */
export const QUANTUM = 128;

/** Samples `from` to `to - 1` of the context; the first one is sample `place` of the film. */
export interface Run {
  readonly from: number;
  readonly to: number;
  readonly place: number;
}

export class AudioClock {
  readonly rateHz: number;
  private isRunning = true;
  /** The context stood at sample `base` when the film stood at `sinceMs`. */
  private base = 0;
  private sinceMs: number;
  /** All samples before this one are in some run. */
  private planned = 0;
  private readonly waiting: Run[] = [];

  constructor(rateHz: number, nowMs: number) {
    this.rateHz = rateHz;
    this.sinceMs = nowMs;
  }

  /** What the context says its time is, in seconds. */
  currentTime(nowMs: number): number {
    return this.sampleAt(nowMs) / this.rateHz;
  }

  suspend(nowMs: number): void {
    if (!this.isRunning) return;
    this.plan(floorToQuantum(this.sampleAt(nowMs)));
    this.base = this.planned;
    this.isRunning = false;
  }

  resume(nowMs: number): void {
    if (this.isRunning) return;
    this.sinceMs = nowMs;
    this.isRunning = true;
  }

  /** What is to be rendered so that all is there that the film needs until now. */
  due(nowMs: number): Run[] {
    if (this.isRunning) this.plan(floorToQuantum(this.sampleAt(nowMs)));
    return this.waiting.splice(0);
  }

  private sampleAt(nowMs: number): number {
    if (!this.isRunning) return this.base;
    return this.base + (Math.max(0, nowMs - this.sinceMs) * this.rateHz) / 1000;
  }

  private plan(to: number): void {
    if (to <= this.planned) return;
    const start = Math.round((this.sinceMs * this.rateHz) / 1000);
    this.waiting.push({ from: this.planned, to, place: start + this.planned - this.base });
    this.planned = to;
  }
}

function floorToQuantum(sample: number): number {
  // A frame's time is hardly ever a whole number of milliseconds: what is next to a quantum is it.
  return Math.floor((sample + 1e-3) / QUANTUM) * QUANTUM;
}
