/**
 * Web Audio in a render: contexts that keep the film's time and can be heard in it.
 *
 * Scripts find `AudioContext` as ever. What they make with it is rendered between two frames, as far
 * as the film has come, and fetched by the renderer (`capture/web_audio.py`).
 */

import { defineAudioContext, startAtExactTimes } from "./audio_context.ts";
import type { Played } from "./element_sound.ts";
import { replaceMediaNodes } from "./media_nodes.ts";
import { RenderedContext } from "./rendered_context.ts";
import { SoundPieces, type SoundPiece } from "./sound_pieces.ts";

/** The binding that notifies the renderer of sound; removed from the page. */
const BINDING = "__framekilnSound";
/** More than a page needs; each costs memory and a thread until the page is closed. */
const MAX_CONTEXTS = 64;

interface Clock {
  now(): number;
  enterInstant(exactMs: number): void;
}

/** Takes the sound of an element out of the film from an instant on. */
type Routing = (element: HTMLMediaElement, nowMs: number) => Played;

interface SoundState {
  readonly isDone: boolean;
  /** How much sound waits to be fetched. */
  readonly bytes: number;
  readonly failure: string;
  readonly warnings: readonly string[];
}

export class WebAudio {
  private readonly clock: Clock;
  private readonly routing: Routing;
  private readonly routed = new WeakSet<HTMLMediaElement>();
  private readonly contexts = new Map<BaseAudioContext, RenderedContext>();
  private readonly pieces = new SoundPieces();
  private readonly notifyRenderer: (() => void) | null;
  private hasBegun = false;
  private readonly works = new Set<Work>();
  private readonly warnings = new Set<string>();
  private problem = "";

  constructor(clock: Clock, routing: Routing) {
    this.clock = clock;
    this.routing = routing;
    this.notifyRenderer = takeBinding();
  }

  /** Called before any script of the page. */
  install(): void {
    defineAudioContext(this);
    replaceMediaNodes();
    startAtExactTimes((context) => this.contexts.get(context)?.currentTime ?? null);
    this.awaitAll(BaseAudioContext.prototype, "decodeAudioData");
    this.awaitAll(OfflineAudioContext.prototype, "startRendering");
    // Frames inside the page may be without: worklets are for trustworthy origins.
    if (typeof AudioWorklet === "function") this.awaitAll(AudioWorklet.prototype, "addModule");
  }

  get hasAny(): boolean {
    return this.contexts.size > 0;
  }

  /** What frame 0, and every later one, waits for. */
  pending(): string[] {
    return this.isBusy() ? ["sound that is being decoded or rendered"] : [];
  }

  failure(): string {
    return this.problem;
  }

  begin(): void {
    this.hasBegun = true;
  }

  /** The time of the film; it stands at zero until frame 0. */
  nowMs(): number {
    return this.hasBegun ? this.clock.now() : 0;
  }

  open(rateHz: number): RenderedContext {
    if (this.contexts.size >= MAX_CONTEXTS) {
      throw new DOMException(`a page can have ${MAX_CONTEXTS} AudioContexts`, "NotSupportedError");
    }
    const context = new RenderedContext(this.contexts.size, rateHz, this);
    this.contexts.set(context.native, context);
    this.notifyRenderer?.();
    return context;
  }

  /** Give the sound of an element to a node, which it can have but one of. */
  route(element: HTMLMediaElement): Played {
    if (this.routed.has(element)) {
      throw new DOMException("the element already has a source node", "InvalidStateError");
    }
    this.routed.add(element);
    return this.routing(element, this.nowMs());
  }

  warn(warning: string): void {
    this.warnings.add(warning);
  }

  find(context: BaseAudioContext): RenderedContext {
    const found = this.contexts.get(context);
    if (found === undefined) throw new TypeError("Illegal invocation");
    return found;
  }

  /** Render sound up to a time of the film; `state` reports when that is done. */
  advance(atMs: number): void {
    this.clock.enterInstant(atMs);
    for (const context of this.contexts.values()) {
      void this.awaiting(context.advance(atMs, this.pieces), this).catch((error: unknown) => {
        this.problem ||= `Web Audio failed: ${String(error)}`;
      });
    }
  }

  state(): SoundState {
    return {
      isDone: !this.isBusy(),
      bytes: this.pieces.bytes,
      failure: this.problem,
      warnings: [...this.warnings],
    };
  }

  take(): SoundPiece[] {
    return this.pieces.take();
  }

  /** Let the film wait for what threads of the browser do: that takes real time. */
  private awaitAll<Name extends string>(owner: Record<Name, Method>, name: Name): void {
    const inner = owner[name];
    const awaiting = (promise: Promise<unknown>, owner: unknown) => this.awaiting(promise, owner);
    owner[name] = function work(this: unknown, ...args: unknown[]): Promise<unknown> {
      return awaiting(inner.apply(this, args as never[]), this);
    };
  }

  private awaiting<T>(promise: Promise<T>, owner: unknown): Promise<T> {
    const work = { owner };
    this.works.add(work);
    const done = (): unknown => this.works.delete(work);
    promise.then(done, done);
    return promise;
  }

  private isBusy(): boolean {
    // Rendering that the page itself has stopped goes on when its scripts say so.
    return [...this.works].some(
      ({ owner }) => !(owner instanceof OfflineAudioContext && owner.state === "suspended"),
    );
  }
}

type Method = (...args: never[]) => Promise<unknown>;

interface Work {
  readonly owner: unknown;
}

function takeBinding(): (() => void) | null {
  const page = window as unknown as Record<string, unknown>;
  const notifyRenderer = page[BINDING];
  delete page[BINDING];
  return typeof notifyRenderer === "function"
    ? () => (notifyRenderer as (text: string) => void)("")
    : null;
}
