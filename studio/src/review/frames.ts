/** The frames of a film by number, as the service lists them; never computed from a rate. */

import type { Annotation, Span } from "./boxes.ts";

export interface ListedFrames {
  /** Seconds of a tick: numerator and denominator. */
  tick_s: number[];
  starts: number[];
  end: number;
}

export class FrameTimes {
  readonly count: number;
  readonly #starts: readonly number[];
  readonly #end: number;
  readonly #tick: readonly number[];

  constructor({ tick_s, starts, end }: ListedFrames) {
    this.#tick = tick_s;
    this.#starts = starts;
    this.#end = end;
    this.count = starts.length;
  }

  /** When a frame is shown. */
  span(number: number): Span {
    return { fromMs: this.#ms(this.#starts[number]!), untilMs: this.#untilMs(number) };
  }

  get endMs(): number {
    return this.#ms(this.#end);
  }

  /** The number of the frame that is shown at an instant; the first before it, the last after. */
  at(ms: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ms(this.#starts[middle]!) <= ms) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }

  /** The next frame, or with -1 the previous one, in which an annotation begins, ends or is set. */
  mark(from: number, step: number, annotations: readonly Annotation[]): number {
    const times = annotations.flatMap(({ start_ms, end_ms, keyframes }) => [
      start_ms,
      end_ms,
      ...(keyframes ?? []).map(({ t_ms }) => t_ms),
    ]);
    const ahead = times.map((ms) => step * (this.at(ms) - from)).filter((frames) => frames > 0);
    return ahead.length === 0 ? from : from + step * ahead.reduce((a, b) => Math.min(a, b));
  }

  /** The frame that a player shows; its times are rounded to microseconds. */
  played(seconds: number): number {
    return this.at(seconds * 1000 + 0.1);
  }

  #untilMs(number: number): number {
    return this.#ms(this.#starts[number + 1] ?? this.#end);
  }

  #ms(ticks: number): number {
    return (ticks * 1000 * this.#tick[0]!) / this.#tick[1]!;
  }
}
