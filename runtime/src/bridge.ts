/**
 * Pages with elements and a runtime of their own: the object they look for and its callbacks. They
 * draw themselves; the bridge requests each frame and waits until it is drawn.
 * `capture/bridged_page.py` is the other side.
 *
 * A page that registers nothing with the bridge but has EF_FRAMEGEN gets the same calls there.
 */

import { BridgeSound } from "./bridge_sound.ts";
import type { Plan } from "./plan.ts";
import type { Waiting } from "./readiness.ts";

type Callback = (...args: unknown[]) => unknown;

/** What such a page may have put on its window. */
export interface OwnRuntime {
  FRAMEGEN_BRIDGE?: unknown;
  EF_REGISTERED?: unknown;
  EF_FRAMEGEN?: { initialize?: Callback; beginFrame?: Callback };
  EF_RENDER?: { isReady?: Callback; getRenderInfo?: Callback };
  getRenderInfo?: Callback;
  document?: { querySelector(selector: string): Element | null };
}

export interface FrameState {
  readonly isDone: boolean;
  readonly failure: string;
}

interface RenderInfo {
  readonly width?: unknown;
  readonly height?: unknown;
  readonly fps?: unknown;
  readonly durationMs?: unknown;
}

/** Names that begin so may need time and frames to be done; `capture/page.py` knows it. */
const PREFIX = "own runtime: ";

export class Bridge implements Waiting {
  readonly sound = new BridgeSound();
  private readonly page: OwnRuntime;
  private readonly asksInfo: boolean;
  private readonly callbacks: Record<string, Callback | undefined> = {};
  private ready: Answer | null = null;
  private info: Answer | null = null;
  private initializing: "not yet" | "begun" | "done" = "not yet";
  private problem = "";
  private frame = { number: -1, isLast: false, isDone: true };

  /** `asksInfo`: whether the page must say size, rate and length, since nobody else does. */
  constructor(page: OwnRuntime, asksInfo: boolean) {
    this.page = page;
    this.asksInfo = asksInfo;
  }

  /** Put the bridge where the page looks for it; before any script of the page. */
  install(): void {
    const registering = (name: string) => (callback: unknown) => {
      if (typeof callback !== "function") throw new TypeError(`${name} needs a function`);
      this.callbacks[name] = callback as Callback;
    };
    this.page.FRAMEGEN_BRIDGE = Object.freeze({
      onInitialize: registering("onInitialize"),
      onBeginFrame: registering("onBeginFrame"),
      // Never called: every frame is drawn here, whether the page has changed or not.
      onTriggerCanvas: registering("onTriggerCanvas"),
      initialized: () => {
        if (this.initializing === "begun") this.initializing = "done";
      },
      frameReady: (number: unknown, sound: unknown) => this.frameReady(number, sound),
      error: (reason: unknown) => this.fail(`the page's own runtime reported: ${words(reason)}`),
      syncLog: (number: unknown, message: unknown, done: unknown) => {
        console.debug(`frame ${String(number)}: ${String(message)}`);
        if (typeof done === "function") (done as Callback)();
      },
    });
  }

  pending(): string[] {
    const missing = this.initializing === "not yet" ? this.missing() : this.uninitialized();
    return missing === "" ? [] : [PREFIX + missing];
  }

  failure(): string {
    return this.problem;
  }

  plan(): Plan {
    const root = this.page.document?.querySelector("ef-timegroup") ?? null;
    const info = (this.info?.value ?? {}) as RenderInfo;
    const own = (root ?? {}) as { durationMs?: unknown };
    const attribute = Number.parseFloat(root?.getAttribute("fps") ?? "");
    return {
      kind: "composition",
      widthPx: positive(info.width) ?? positive(root?.clientWidth),
      heightPx: positive(info.height) ?? positive(root?.clientHeight),
      fps: positive(attribute) ?? positive(info.fps),
      durationMs: positive(info.durationMs) ?? positive(own.durationMs),
      media: [],
      // It gets a frame's number and can show that frame directly.
      isDeclarative: true,
      mixesSound: true,
      warnings: this.info?.problem
        ? [{ code: "render_info", text: `getRenderInfo: ${this.info.problem}` }]
        : [],
    };
  }

  /** Send the page the options of the film. It is ready when `pending` is empty again. */
  initialize(options: unknown): void {
    this.initializing = "begun";
    const { onInitialize } = this.callbacks;
    if (onInitialize !== undefined) {
      this.watch(onInitialize(options), "onInitialize", () => undefined);
      return;
    }
    const returned = this.page.EF_FRAMEGEN?.initialize?.(options);
    this.watch(returned, "EF_FRAMEGEN.initialize", () => {
      this.initializing = "done";
    });
  }

  /** Request a frame of the page; `state` reports when it is drawn. */
  beginFrame(number: number, isLast: boolean): void {
    this.frame = { number, isLast, isDone: false };
    const { onBeginFrame } = this.callbacks;
    if (onBeginFrame !== undefined) {
      this.watch(onBeginFrame(number, isLast), `onBeginFrame(${number})`, () => undefined);
      return;
    }
    const returned = this.page.EF_FRAMEGEN?.beginFrame?.(number, isLast);
    this.watch(returned, `EF_FRAMEGEN.beginFrame(${number})`, (sound) =>
      this.frameReady(number, sound),
    );
  }

  state(): FrameState {
    return { isDone: this.frame.isDone, failure: this.problem };
  }

  /** What the page has to provide before it can be initialized. */
  private missing(): string {
    if (!this.page.EF_REGISTERED) return "window.EF_REGISTERED";
    if (!this.isReady()) return "EF_RENDER.isReady()";
    if (!this.hasInfo()) return "getRenderInfo()";
    const { onInitialize } = this.callbacks;
    const isThere = onInitialize !== undefined || this.page.EF_FRAMEGEN?.initialize !== undefined;
    return isThere ? "" : "FRAMEGEN_BRIDGE.onInitialize, or EF_FRAMEGEN";
  }

  private uninitialized(): string {
    if (this.initializing === "begun") return "FRAMEGEN_BRIDGE.initialized()";
    const { onBeginFrame } = this.callbacks;
    const isThere = onBeginFrame !== undefined || this.page.EF_FRAMEGEN?.beginFrame !== undefined;
    return isThere ? "" : "FRAMEGEN_BRIDGE.onBeginFrame, or EF_FRAMEGEN";
  }

  private isReady(): boolean {
    const render = this.page.EF_RENDER;
    if (typeof render?.isReady !== "function") return true;
    // Asked again and again, but never while an answer is on its way.
    if (this.ready === null || (this.ready.isThere && !this.ready.isYes)) {
      this.ready = new Answer(() => render.isReady?.());
    }
    return this.ready.isThere && this.ready.isYes;
  }

  private hasInfo(): boolean {
    const render = this.page.EF_RENDER;
    const ask = render?.getRenderInfo?.bind(render) ?? this.page.getRenderInfo;
    if (!this.asksInfo || typeof ask !== "function") return true;
    this.info ??= new Answer(ask);
    return this.info.isThere;
  }

  private frameReady(number: unknown, sound: unknown): void {
    // A late word on an earlier frame says nothing of this one.
    if (typeof number === "number" && number !== this.frame.number) return;
    // The sound of the whole film comes with its last frame.
    if (this.frame.isLast && !this.frame.isDone) this.sound.keep(sound);
    this.frame.isDone = true;
  }

  private watch(returned: unknown, name: string, done: (value: unknown) => void): void {
    Promise.resolve(returned)
      .then(done)
      .catch((reason: unknown) => this.fail(`${name} failed: ${words(reason)}`));
  }

  private fail(problem: string): void {
    if (this.problem === "") this.problem = problem.slice(0, 1000);
  }
}

/** What the page answers, now or later. */
class Answer {
  isThere = false;
  value: unknown = undefined;
  problem = "";
  private isLate = false;

  constructor(ask: () => unknown) {
    try {
      this.value = ask();
    } catch (reason) {
      this.problem = words(reason);
    }
    this.isLate = typeof (this.value as { then?: unknown } | null)?.then === "function";
    this.isThere = !this.isLate;
    if (this.isLate) void this.wait(this.value);
  }

  /** A promise that is kept without a word means yes. */
  get isYes(): boolean {
    return this.problem === "" && (this.isLate ? this.value !== false : Boolean(this.value));
  }

  private async wait(promised: unknown): Promise<void> {
    this.value = undefined;
    try {
      this.value = await promised;
    } catch (reason) {
      this.problem = words(reason);
    }
    this.isThere = true;
  }
}

function positive(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;
}

function words(reason: unknown): string {
  if (reason instanceof Error) return reason.message || reason.name;
  const message = (reason as { message?: unknown } | null | undefined)?.message;
  if (typeof message === "string") return message;
  return typeof reason === "object" ? JSON.stringify(reason) : String(reason);
}
