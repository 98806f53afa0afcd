/**
 * The workers of a page, kept in step with the film.
 *
 * A worker has a thread of its own: when the page gets what it sends, and when Chromium shows what
 * it draws on a canvas (OffscreenCanvas), depends on the machine. So each is asked in every frame
 * how far it is, and the frame is drawn again until all of it is there. Messages arrive in order:
 * an answer says that what came before the question is done, and what was sent before it is here.
 */

import { PROGRESS_REQUEST, progressIn, type WorkerProgress } from "./worker_progress.ts";

/** Chromium learns of a new canvas in one frame, shows it in the next, and then waits for it. */
const DRAWINGS_OF_NEW = 4;
/** A picture is handed over in one frame and Chromium may show it in the next. */
const DRAWINGS_OF_CHANGED = 2;
/** A message may have changed the page. */
const DRAWINGS_OF_MESSAGE = 1;
/** A worker whose canvas is nowhere in the page is never called. */
const MAX_CALLS = 8;
/** Page and worker may answer each other without end. */
const MAX_ROUNDS = 100;
const NOT_BEGUN: WorkerProgress = { ran: 0, isWaiting: false, isBusy: false, isOver: false };

type Post = (message: unknown, options?: StructuredSerializeOptions | Transferable[]) => void;

interface Known {
  unanswered: number;
  /** Whether it was sent a message since it was asked. */
  isUnread: boolean;
  hasCanvas: boolean;
  hasNewCanvas: boolean;
  /** Whether it got messages since the frame before, or sent some. */
  hasReceived: boolean;
  hasSent: boolean;
  /** How many callbacks had run when the frame before was done. */
  ranBefore: number;
  progress: WorkerProgress;
}

export class PageWorkers {
  private readonly known = new Map<Worker, Known>();
  private post: Post = () => undefined;
  private hasNewCanvas = false;
  /** Canvases that the page has not handed over: it may draw on them itself. */
  private readonly own = new Set<OffscreenCanvas>();
  private calls = 0;
  private rounds = 0;
  private isShown = true;

  /** Called before the page's own scripts. */
  install(): void {
    this.watchCanvases();
    if (typeof Worker !== "function") return;
    const { postMessage, terminate } = Worker.prototype;
    this.post = postMessage as Post;
    const { known, own } = this;
    const add = this.add.bind(this);
    window.Worker = new Proxy(Worker, {
      construct: (target, args, newTarget) => {
        const worker = Reflect.construct(target, args, newTarget) as Worker;
        add(worker);
        return worker;
      },
    });
    const tracked: Post = function (this: Worker, message, options) {
      (postMessage as Post).call(this, message, options);
      const state = known.get(this);
      if (state === undefined) return;
      state.hasReceived = state.isUnread = true;
      for (const canvas of transferredCanvases(options)) {
        own.delete(canvas);
        state.hasCanvas = state.hasNewCanvas = true;
      }
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

  /** Frame 0 waits until they have read what they were sent, and have what they requested. */
  pending(): string[] {
    for (const [worker, state] of this.known) {
      if (state.unanswered > 0) continue;
      if (state.progress.isBusy) this.ask(worker, state);
      // The page may have sent more after what it got.
      else if (state.isUnread && this.rounds < MAX_ROUNDS) {
        this.rounds += 1;
        this.ask(worker, state);
      }
    }
    const unanswered = [...this.known.values()].filter((state) => state.unanswered > 0);
    return unanswered.map(() => "a worker");
  }

  failure(): string {
    return "";
  }

  /** A frame was drawn: ask how far they are. Returns whether there is anybody to ask. */
  beginFrame(): boolean {
    this.calls = this.rounds = 0;
    this.isShown = false;
    this.askAll();
    return this.hasAny || this.own.size > 0;
  }

  /** How often the frame has to be drawn again; null while answers are missing. */
  drawings(): number | null {
    if (this.pending().length > 0) return null;
    if (this.isShown) return 0;
    const states = [...this.known.values()];
    if (this.calls < MAX_CALLS && states.some(isDue)) {
      this.calls += 1;
      this.askAll();
      return 1;
    }
    this.isShown = true;
    const ofNew = this.hasNewCanvas ? DRAWINGS_OF_NEW : 0;
    const ofOwn = this.own.size > 0 ? DRAWINGS_OF_CHANGED : 0;
    const drawings = Math.max(ofNew, ofOwn, ...states.map(drawingsOf));
    this.hasNewCanvas = false;
    for (const state of states) {
      state.ranBefore = state.progress.ran;
      state.hasNewCanvas = state.hasReceived = state.hasSent = false;
    }
    return drawings;
  }

  /** A script of the page may draw on such a canvas itself. */
  private watchCanvases(): void {
    const { transferControlToOffscreen } = HTMLCanvasElement.prototype;
    const onTransfer = (canvas: OffscreenCanvas): void => {
      this.hasNewCanvas = true;
      this.own.add(canvas);
    };
    HTMLCanvasElement.prototype.transferControlToOffscreen = function (this: HTMLCanvasElement) {
      const offscreen = transferControlToOffscreen.call(this);
      onTransfer(offscreen);
      return offscreen;
    };
  }

  private add(worker: Worker): void {
    const state: Known = {
      unanswered: 0,
      isUnread: false,
      hasCanvas: false,
      hasNewCanvas: false,
      hasReceived: false,
      hasSent: false,
      ranBefore: 0,
      progress: NOT_BEGUN,
    };
    this.known.set(worker, state);
    // The first listener of all, so the author's never see an answer.
    worker.addEventListener("message", (event) => {
      const progress = progressIn(event.data);
      if (progress === null) {
        state.hasSent = true;
        return;
      }
      event.stopImmediatePropagation();
      state.unanswered = progress.isOver ? 0 : Math.max(0, state.unanswered - 1);
      state.progress = progress;
    });
    // A script that cannot be loaded answers nothing; one that throws does.
    worker.addEventListener("error", (event) => {
      if (!(event instanceof ErrorEvent)) this.known.delete(worker);
    });
    this.ask(worker, state);
  }

  private ask(worker: Worker, state: Known): void {
    state.isUnread = false;
    if (state.progress.isOver) return;
    state.unanswered += 1;
    this.post.call(worker, PROGRESS_REQUEST);
  }

  private askAll(): void {
    for (const [worker, state] of this.known) this.ask(worker, state);
  }
}

function transferredCanvases(options: Parameters<Post>[1]): OffscreenCanvas[] {
  const transfer = Array.isArray(options) ? options : (options?.transfer ?? []);
  return transfer.filter((thing) => thing instanceof OffscreenCanvas);
}

/** Whether it waits for a frame and was not called in this one. */
function isDue({ hasCanvas, progress, ranBefore }: Known): boolean {
  return hasCanvas && progress.isWaiting && progress.ran === ranBefore;
}

function drawingsOf({ hasCanvas, ...state }: Known): number {
  if (state.hasNewCanvas) return DRAWINGS_OF_NEW;
  const hasChanged = state.hasReceived || state.progress.ran !== state.ranBefore;
  if (hasCanvas && hasChanged) return DRAWINGS_OF_CHANGED;
  return state.hasSent ? DRAWINGS_OF_MESSAGE : 0;
}
