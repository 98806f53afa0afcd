/** requestAnimationFrame of a worker: once in each frame of the film, however often that is drawn. */

type Native = (callback: FrameRequestCallback) => number;

interface Request {
  readonly callback: FrameRequestCallback;
  /** When callbacks had last run as it was made. */
  readonly afterMs: number;
}

/** Frames of a film lie at least 8 ms apart, repeated drawings of one within 2 ms. */
const SAME_FRAME_MS = 4;
/** More than Chromium's blur of what scripts read of its clock. */
const SLACK_MS = 0.25;

export class WorkerFrames {
  /** How many callbacks have run. */
  ran = 0;
  private readonly native: Native;
  private readonly requests = new Map<number, Request>();
  private lastHandle = 0;
  private lastRunMs = -Infinity;
  private hasBegun = false;

  constructor(native: Native) {
    this.native = native;
  }

  /** Whether a callback waits for a frame. */
  get isWaiting(): boolean {
    return this.requests.size > 0;
  }

  request(callback: FrameRequestCallback): number {
    this.lastHandle += 1;
    this.requests.set(this.lastHandle, { callback, afterMs: this.lastRunMs });
    if (!this.hasBegun) this.native(this.tick);
    this.hasBegun = true;
    return this.lastHandle;
  }

  cancel(handle: number): void {
    this.requests.delete(handle);
  }

  /** A reading of the clock, without its blur: the frame's time, or that of a timer. */
  exactMs(roughMs: number): number {
    const isInFrame = Math.abs(roughMs - this.lastRunMs) <= SLACK_MS;
    return isInFrame ? this.lastRunMs : Math.round(roughMs);
  }

  private readonly tick = (stampMs: number): void => {
    // For ever: Chromium waits without end for a worker that asks for frames now and then.
    this.native(this.tick);
    for (const [handle, { callback, afterMs }] of [...this.requests]) {
      if (stampMs - afterMs < SAME_FRAME_MS || !this.requests.delete(handle)) continue;
      this.lastRunMs = stampMs;
      this.ran += 1;
      try {
        callback(stampMs);
      } catch (error) {
        reportError(error);
      }
    }
  };
}
