/**
 * requestAnimationFrame, held until frame 0.
 *
 * A page is drawn several times while it loads. Were its callbacks run each time, a page that
 * counts them would start at some other number in every run. So they wait for frame 0, unless the
 * page's own readiness promise may depend on them: then `step` lets the waiting ones run once.
 */

type Native = (callback: FrameRequestCallback) => number;

export class FrameCallbacks {
  private readonly native: Native;
  private readonly cancelNative: (handle: number) => void;
  private readonly waiting = new Map<number, FrameRequestCallback>();
  private readonly requested = new Map<number, number>();
  private holding = true;
  private lastHandle = 0;
  private isRepeating = false;

  constructor(native: Native, cancelNative: (handle: number) => void) {
    this.native = native;
    this.cancelNative = cancelNative;
  }

  request(callback: FrameRequestCallback): number {
    this.lastHandle += 1;
    if (this.holding) this.waiting.set(this.lastHandle, callback);
    else this.pass(this.lastHandle, callback);
    return this.lastHandle;
  }

  cancel(handle: number): void {
    this.waiting.delete(handle);
    const native = this.requested.get(handle);
    if (native !== undefined) this.cancelNative(native);
    this.requested.delete(handle);
  }

  /** Let what waits now run with the next frame. */
  step(): void {
    for (const [handle, callback] of this.waiting) this.pass(handle, callback);
    this.waiting.clear();
  }

  /** From now on every frame is a frame of the film. */
  release(): void {
    this.holding = false;
    this.step();
  }

  /** Run what waits now as a frame would, without one. */
  run(stampMs: number): void {
    for (const handle of [...this.waiting.keys()]) {
      const callback = this.waiting.get(handle);
      this.waiting.delete(handle);
      try {
        callback?.(stampMs);
      } catch (error) {
        reportError(error);
      }
    }
  }

  /** The next frame drawn is the present one again: callbacks wait for the one after it. */
  repeat(): void {
    this.isRepeating = true;
    // Requested last, so it runs after all that are put off.
    this.native(() => {
      this.isRepeating = false;
    });
  }

  private pass(handle: number, callback: FrameRequestCallback): void {
    const native = this.native((stampMs) => {
      if (this.isRepeating) {
        this.pass(handle, callback);
        return;
      }
      this.requested.delete(handle);
      callback(stampMs);
    });
    this.requested.set(handle, native);
  }
}
