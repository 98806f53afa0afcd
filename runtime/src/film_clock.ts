/** The film's time, as clips and pictures need it. */
export interface FilmClock {
  /** Exact also between two frames; 0 until the film begins. */
  nowMs(): number;
  frameMs(): number;
  hasBegun(): boolean;
  /** The own time of the nearest timed element around, or null without one or while it is hidden. */
  ownMsAround(element: Element): number | null;
  isTimed(element: Element): boolean;
  after(delayMs: number, call: () => void): number;
  cancel(handle: number): void;
}
