/** The request for the progress of a worker that draws for the page, and the response. */

const NAME = "__framekilnProgress";

export interface WorkerProgress {
  /** How many of its frame callbacks have run. */
  readonly ran: number;
  /** Whether more of them wait for a frame. */
  readonly isWaiting: boolean;
  /** Whether it has closed itself, and answers no more. */
  readonly isOver: boolean;
}

/** Sent once with a port for all answers, then whenever one is wanted. */
export const PROGRESS_REQUEST: Readonly<Record<string, boolean>> = { [NAME]: true };

export function isProgressRequest(data: unknown): boolean {
  return typeof data === "object" && data !== null && NAME in data;
}
