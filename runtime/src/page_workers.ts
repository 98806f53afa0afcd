/**
 * Workers that draw a canvas of the page (OffscreenCanvas), kept in step with the film.
 *
 * A worker draws on a thread of its own, and Chromium shows it with a later frame. So each is
 * asked in every frame how far it is, and the frame is drawn again until its picture is there.
 * Messages to a worker arrive in order: an answer says that all before the question are done.
 */

import { PROGRESS_REQUEST, type WorkerProgress } from "./worker_progress.ts";

/** Chromium learns of a new canvas in one frame, shows it in the next, and then waits for it. */
const DRAWINGS_OF_NEW = 4;
/** The worker hands its picture over in one frame and Chromium may show it in the next. */
const DRAWINGS_OF_CHANGED = 2;
/** A worker whose canvas is nowhere in the page is never called. */
const MAX_CALLS = 8;

type Post = (message: unknown, options?: StructuredSerializeOptions | Transferable[]) => void;

interface Known {
  unanswered: number;
  isNew: boolean;
  hasMessages: boolean;
  /** How many callbacks had run when the frame before was done. */
  ranBefore: number;
  progress: WorkerProgress;
}

export class PageWorkers {
  private readonly known = new Map<Worker, Known>();
  private post: Post = () => undefined;
  private hasNewCanvas = false;
  private calls = 0;
  private isShown = true;

  /** Called before the page's own scripts. */
  install(): void {
    this.watchCanvases();
    if (typeof Worker !== "function") return;
    const { postMessage, terminate } = Worker.prototype;
    this.post = postMessage as Post;
    const { known } = this;
    const add = this.add.bind(this);
    const ask = this.ask.bind(this);
    const tracked: Post = function (this: Worker, message, options) {
      const state = known.get(this) ?? (transfersCanvas(options) ? add(this) : null);
      (postMessage as Post).call(this, message, options);
      if (state === null) return;
      state.hasMessages = true;
      if (state.isNew) ask(this, state);
    };
    Worker.prototype.postMessage = tracked as Worker["postMessage"];
    Worker.prototype.terminate = function (this: Worker) {
      known.delete(this);
      terminate.call(this);
    };
  }

  get hasAny(): boolean {
    return this.known.size > 0;
  }

  /** Frame 0 waits until they have read what they were sent. */
  pending(): string[] {
    return this.isBusy ? ["a worker that draws a canvas"] : [];
  }

  failure(): string {
    return "";
  }

  /** A frame was drawn: ask how far they are. Returns whether there is anybody to ask. */
  beginFrame(): boolean {
    this.calls = 0;
    this.isShown = false;
    this.askAll();
    return this.hasAny || this.hasNewCanvas;
  }

  /** How often the frame has to be drawn again; null while answers are missing. */
  drawings(): number | null {
    if (this.isBusy) return null;
    if (this.isShown) return 0;
    const states = [...this.known.values()];
    if (this.calls < MAX_CALLS && states.some(isDue)) {
      this.calls += 1;
      this.askAll();
      return 1;
    }
    this.isShown = true;
    const drawings = this.hasNewCanvas ? DRAWINGS_OF_NEW : Math.max(0, ...states.map(drawingsOf));
    this.hasNewCanvas = false;
    for (const state of states) {
      state.ranBefore = state.progress.ran;
      state.isNew = false;
      state.hasMessages = false;
    }
    return drawings;
  }

  /** A script of the page may draw on such a canvas itself. */
  private watchCanvases(): void {
    const { transferControlToOffscreen } = HTMLCanvasElement.prototype;
    const onTransfer = () => {
      this.hasNewCanvas = true;
    };
    HTMLCanvasElement.prototype.transferControlToOffscreen = function (this: HTMLCanvasElement) {
      const offscreen = transferControlToOffscreen.call(this);
      onTransfer();
      return offscreen;
    };
  }

  private get isBusy(): boolean {
    return [...this.known.values()].some((state) => state.unanswered > 0);
  }

  /** Before it reads anything else, it gets the port for its answers. */
  private add(worker: Worker): Known {
    const state: Known = {
      unanswered: 0,
      isNew: true,
      hasMessages: false,
      ranBefore: 0,
      progress: { ran: 0, isWaiting: false, isOver: false },
    };
    this.known.set(worker, state);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }: MessageEvent<WorkerProgress>) => {
      state.unanswered = data.isOver ? 0 : Math.max(0, state.unanswered - 1);
      state.progress = data;
    };
    // A script that cannot be loaded answers nothing.
    worker.addEventListener("error", () => {
      state.unanswered = 0;
    });
    this.ask(worker, state, [port2]);
    return state;
  }

  private ask(worker: Worker, state: Known, ports: MessagePort[] = []): void {
    if (state.progress.isOver) return;
    state.unanswered += 1;
    this.post.call(worker, PROGRESS_REQUEST, ports);
  }

  private askAll(): void {
    for (const [worker, state] of this.known) this.ask(worker, state);
  }
}

function transfersCanvas(options: Parameters<Post>[1]): boolean {
  const transfer = Array.isArray(options) ? options : (options?.transfer ?? []);
  return transfer.some((thing) => thing instanceof OffscreenCanvas);
}

/** Whether it waits for a frame and was not called in this one. */
function isDue({ progress, ranBefore }: Known): boolean {
  return progress.isWaiting && progress.ran === ranBefore;
}

function drawingsOf({ isNew, hasMessages, progress, ranBefore }: Known): number {
  if (isNew) return DRAWINGS_OF_NEW;
  return hasMessages || progress.ran !== ranBefore ? DRAWINGS_OF_CHANGED : 0;
}
