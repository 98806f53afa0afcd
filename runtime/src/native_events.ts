/**
 * Dispatches the events of a clip: in order, right after the script that caused them, at the same
 * instant of the film.
 */

/** What scripts wait for before they use a clip. */
export const LOADED = [
  "durationchange",
  "loadedmetadata",
  "loadeddata",
  "canplay",
  "canplaythrough",
];
export const SOUGHT = ["timeupdate", "seeked"];
export const PAUSED = ["timeupdate", "pause"];
export const ENDED = [...PAUSED, "ended"];

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class ClipEvents {
  private readonly element: HTMLMediaElement;
  private waiting: Waiting[] = [];

  constructor(element: HTMLMediaElement) {
    this.element = element;
  }

  dispatch(...names: readonly string[]): void {
    for (const name of names) this.afterwards(() => this.element.dispatchEvent(new Event(name)));
  }

  afterwards(call: () => void): void {
    queueMicrotask(call);
  }

  /** The answer to `play()`: kept when the clip plays, after the event that says so. */
  whenPlaying(isReady: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      if (isReady) this.startPlaying();
    });
  }

  startPlaying(): void {
    const { waiting } = this;
    this.waiting = [];
    this.afterwards(() => {
      for (const { resolve } of waiting) resolve();
    });
  }

  giveUpPlaying(reason: string, name = "AbortError"): void {
    const { waiting } = this;
    this.waiting = [];
    for (const { reject } of waiting) reject(new DOMException(reason, name));
  }
}
