/** A value that changes in some frames and keeps its value in between. No DOM. */

export class FrameValues<T> {
  /** Frames in which it changed, in their order; before the first it has its first value. */
  readonly frames: number[] = [];
  private readonly values: T[];

  constructor(first: T) {
    this.values = [first];
  }

  get last(): T {
    return this.values.at(-1) as T;
  }

  add(frame: number, value: T): void {
    if (this.frames.at(-1) === frame) this.values[this.values.length - 1] = value;
    else {
      this.frames.push(frame);
      this.values.push(value);
    }
  }

  at(frame: number): T {
    return this.values[countUpTo(this.frames, frame)] as T;
  }
}

/** How many of these numbers, which are in their order, are not greater. */
export function countUpTo(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
