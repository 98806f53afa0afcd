/** The request for the progress of a worker of the page, and the answer, among its messages. */

const ASKED = "__framekilnProgress";
const ANSWERED = "__framekilnAnswer";

export interface WorkerProgress {
  /** How many of its frame callbacks have run. */
  readonly ran: number;
  /** Whether more of them wait for a frame. */
  readonly isWaiting: boolean;
  /** Whether it waits for what it has requested. */
  readonly isBusy: boolean;
  /** Whether it has closed itself, and answers no more. */
  readonly isOver: boolean;
}

export const PROGRESS_REQUEST: Readonly<Record<string, boolean>> = { [ASKED]: true };

export function isProgressRequest(data: unknown): boolean {
  return typeof data === "object" && data !== null && ASKED in data;
}

export function progressAnswer(progress: WorkerProgress): Readonly<Record<string, WorkerProgress>> {
  return { [ANSWERED]: progress };
}

export function progressIn(data: unknown): WorkerProgress | null {
  if (typeof data !== "object" || data === null || !(ANSWERED in data)) return null;
  return data[ANSWERED] as WorkerProgress;
}
