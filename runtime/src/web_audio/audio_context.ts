/** The `AudioContext` that scripts find while a film is made: all of its members. */

import { elementSource, streamDestination, streamSource } from "./media_nodes.ts";
import type { RenderedContext } from "./rendered_context.ts";

/** As most players have it, and as the film's sound is mixed. */
const DEFAULT_RATE_HZ = 48_000;

interface Contexts {
  open(rateHz: number): RenderedContext;
  find(context: BaseAudioContext): RenderedContext;
  nowMs(): number;
}

export function defineAudioContext(contexts: Contexts): void {
  const AudioContext = function AudioContext(this: unknown, options?: AudioContextOptions): object {
    if (new.target === undefined) {
      throw new TypeError("Failed to construct 'AudioContext': Please use the 'new' operator.");
    }
    const { native } = contexts.open(Math.round(options?.sampleRate ?? DEFAULT_RATE_HZ));
    // It must not look like the offline context it is: libraries treat those differently.
    Object.setPrototypeOf(native, (new.target as { prototype: object }).prototype);
    native.addEventListener("statechange", hideNative);
    queueMicrotask(() => native.dispatchEvent(new Event("statechange")));
    return native;
  };
  AudioContext.prototype = Object.create(BaseAudioContext.prototype, {
    ...valuesOf(contexts),
    ...methodsOf(contexts),
    constructor: { value: AudioContext, configurable: true, writable: true },
    [Symbol.toStringTag]: { value: "AudioContext", configurable: true },
  }) as object;
  Object.setPrototypeOf(AudioContext, BaseAudioContext);
  for (const name of ["AudioContext", "webkitAudioContext"]) {
    const property = { value: AudioContext, configurable: true, writable: true, enumerable: false };
    Object.defineProperty(window, name, property);
  }
}

/** Rendering is stopped and let go on for every frame; no script may hear of that. */
function hideNative(event: Event): void {
  if (event.isTrusted) event.stopImmediatePropagation();
}

function valuesOf(contexts: Contexts): PropertyDescriptorMap {
  const values: Record<string, (context: RenderedContext) => unknown> = {
    currentTime: (context) => context.currentTime,
    state: (context) => context.state,
    destination: (context) => context.destination,
    baseLatency: () => 0,
    outputLatency: () => 0,
    sinkId: () => "",
  };
  const getters = Object.entries(values).map(([name, value]) => {
    const get = function get(this: BaseAudioContext): unknown {
      return value(contexts.find(this));
    };
    return [name, { get, configurable: true, enumerable: true }];
  });
  return Object.fromEntries(getters) as PropertyDescriptorMap;
}

function methodsOf(contexts: Contexts): PropertyDescriptorMap {
  const methods: Record<string, (context: RenderedContext, ...args: never[]) => unknown> = {
    suspend: (context) => change(context, "suspended"),
    resume: (context) => change(context, "running"),
    close: (context) => change(context, "closed"),
    createMediaElementSource: (context, element: HTMLMediaElement) =>
      elementSource(context, element),
    createMediaStreamSource: (context, stream: MediaStream) => streamSource(context, stream),
    createMediaStreamDestination: (context) => streamDestination(context),
    setSinkId: () => Promise.resolve(),
    getOutputTimestamp: (context) => ({
      contextTime: context.currentTime,
      performanceTime: contexts.nowMs(),
    }),
  };
  const described = Object.entries(methods).map(([name, method]) => {
    const value = function value(this: BaseAudioContext, ...args: never[]): unknown {
      return method(contexts.find(this), ...args);
    };
    return [name, { value, configurable: true, enumerable: true, writable: true }];
  });
  return Object.fromEntries(described) as PropertyDescriptorMap;
}

async function change(context: RenderedContext, state: AudioContextState): Promise<void> {
  if (context.state === "closed") {
    throw new DOMException("the AudioContext is closed", "InvalidStateError");
  }
  if (context.state === state) return;
  context.enter(state);
  await Promise.resolve();
  context.native.dispatchEvent(new Event("statechange"));
}

type Start = (when?: number, ...rest: unknown[]) => void;

/**
 * What is to start or stop "now" does so at the sample where the film stands. Chromium would take
 * the next quantum that it renders, which lies up to a frame before.
 */
export function startAtExactTimes(timeOf: (context: BaseAudioContext) => number | null): void {
  for (const owner of [AudioScheduledSourceNode.prototype, AudioBufferSourceNode.prototype]) {
    for (const name of ["start", "stop"] as const) {
      if (!Object.hasOwn(owner, name)) continue;
      const inner = owner[name] as Start;
      owner[name] = function exactly(this: AudioNode, when?: number, ...rest: unknown[]): void {
        const now = timeOf(this.context);
        const isPast = now !== null && Number(when ?? 0) >= 0 && Number(when ?? 0) < now;
        inner.call(this, isPast ? now : when, ...rest);
      };
    }
  }
}
