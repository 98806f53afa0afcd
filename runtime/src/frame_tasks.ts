/**
 * What authors run in each frame, and the promises a frame must wait for.
 *
 * Knows no DOM but the element it hands on.
 */

export interface FrameFacts {
  readonly ownCurrentTimeMs: number;
  readonly durationMs: number;
  readonly percentComplete: number;
  readonly currentTimeMs: number;
  readonly element: HTMLElement;
}

/** Both calling styles in one: fields to take apart, and the own time as a number. */
export type FrameInfo = FrameFacts & number;

export type FrameTask = (info: FrameInfo, durationMs: number) => unknown;

export function frameInfo(facts: FrameFacts): FrameInfo {
  // A number object counts, compares and formats like the number many authors expect.
  return Object.assign(new Number(facts.ownCurrentTimeMs), facts) as unknown as FrameInfo;
}

/** Promises that are not settled yet. */
export class AsyncWork {
  private readonly waiting = new Map<Promise<unknown>, string>();
  private readonly onRejected: (reason: unknown) => void;

  constructor(onRejected: (reason: unknown) => void) {
    this.onRejected = onRejected;
  }

  /** Keep what a task returned, if it is a promise. */
  watch(returned: unknown, name: string): void {
    if (!isThenable(returned)) return;
    const work = Promise.resolve(returned);
    this.waiting.set(work, name);
    const done = (): boolean => this.waiting.delete(work);
    work.then(done, (reason: unknown) => {
      done();
      this.onRejected(reason);
    });
  }

  pending(): string[] {
    return [...this.waiting.values()];
  }
}

/** The tasks of one element, in the order they were added. */
export class FrameTasks {
  private readonly tasks = new Set<FrameTask>();

  get size(): number {
    return this.tasks.size;
  }

  add(task: FrameTask): () => void {
    if (typeof task !== "function") throw new TypeError("addFrameTask needs a function");
    this.tasks.add(task);
    return () => this.remove(task);
  }

  remove(task: FrameTask): void {
    this.tasks.delete(task);
  }

  /** Call each; one that throws does not keep the others from running. */
  run(facts: FrameFacts, work: { watch(returned: unknown): void; threw(error: unknown): void }) {
    if (this.tasks.size === 0) return;
    const info = frameInfo(facts);
    for (const task of [...this.tasks]) {
      try {
        work.watch(task(info, facts.durationMs));
      } catch (error) {
        work.threw(error);
      }
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
