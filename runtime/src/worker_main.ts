/**
 * The script that the renderer puts before that of each worker: it reports the worker's progress to
 * the page, whose side is `page_workers.ts`, and makes its numbers the same in every run.
 */

import { seededRandom } from "./random.ts";
import { Requests } from "./requests.ts";
import { WorkerFrames } from "./worker_frames.ts";
import { isProgressRequest, progressAnswer } from "./worker_progress.ts";

const SEED = 20_250_101;

const frames =
  typeof requestAnimationFrame === "function"
    ? new WorkerFrames(requestAnimationFrame.bind(globalThis))
    : null;
if (frames !== null) {
  globalThis.requestAnimationFrame = (callback) => frames.request(callback);
  globalThis.cancelAnimationFrame = (handle) => frames.cancel(handle);
  const now = performance.now.bind(performance);
  performance.now = () => frames.exactMs(now());
}
Math.random = seededRandom(SEED);

const requests = new Requests();
requests.install();

const post = globalThis.postMessage.bind(globalThis) as (message: unknown) => void;

function answer(isOver: boolean): void {
  post(
    progressAnswer({
      ran: frames?.ran ?? 0,
      isWaiting: frames?.isWaiting ?? false,
      isBusy: requests.pending().length > 0,
      isOver,
    }),
  );
}

// The first listener of all, so the author's never see a request for progress.
addEventListener("message", (event: MessageEvent) => {
  if (!isProgressRequest(event.data)) return;
  event.stopImmediatePropagation();
  answer(false);
});

const close = globalThis.close.bind(globalThis);
globalThis.close = () => {
  answer(true);
  close();
};
