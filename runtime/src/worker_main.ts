/**
 * The script that the renderer puts before that of each worker: it reports the worker's progress to
 * the page. The page's side is `page_workers.ts`.
 */

import { isProgressRequest, type WorkerProgress } from "./worker_progress.ts";
import { WorkerFrames } from "./worker_frames.ts";

const frames =
  typeof requestAnimationFrame === "function"
    ? new WorkerFrames(requestAnimationFrame.bind(globalThis))
    : null;
if (frames !== null) {
  globalThis.requestAnimationFrame = (callback) => frames.request(callback);
  globalThis.cancelAnimationFrame = (handle) => frames.cancel(handle);
}

let answers: MessagePort | null = null;

function answer(isOver: boolean): void {
  const progress: WorkerProgress = {
    ran: frames?.ran ?? 0,
    isWaiting: frames?.isWaiting ?? false,
    isOver,
  };
  answers?.postMessage(progress);
}

// The first listener of all, so the author's never see a request for progress.
addEventListener("message", (event: MessageEvent) => {
  if (!isProgressRequest(event.data)) return;
  event.stopImmediatePropagation();
  answers ??= event.ports[0] ?? null;
  answer(false);
});

const close = globalThis.close.bind(globalThis);
globalThis.close = () => {
  answer(true);
  close();
};
