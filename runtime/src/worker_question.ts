/** What a page asks a worker that draws for it, and the answer. */

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
export const QUESTION: Readonly<Record<string, boolean>> = { [NAME]: true };

export function isQuestion(data: unknown): boolean {
  return typeof data === "object" && data !== null && NAME in data;
}
