/** Puts the exact clock in the place of every time source a script can read. */

import type { ExactClock } from "./clock.ts";
import { FrameCallbacks } from "./frame_callbacks.ts";
import { animationsOfPage } from "./shadow_roots.ts";

type Callback = (...args: unknown[]) => unknown;

/**
 * What scripts read at time zero: many take a start of 0 for none (`if (!start) start = now`), and
 * would begin a frame late. It disappears in sums and differences with any later time.
 */
const START_MS = 1e-30;

export function scriptMs(exactMs: number): number {
  return exactMs === 0 ? START_MS : exactMs;
}

/** Install it all; returns the frame callbacks, which wait until they are released. */
export function installPageTime(clock: ExactClock, epochMs: number): FrameCallbacks {
  replaceTimers(clock);
  replaceDate(() => epochMs + Math.floor(clock.now()));
  performance.now = () => scriptMs(clock.now());
  return replaceFrames(clock);
}

function replaceFrames(clock: ExactClock): FrameCallbacks {
  const request = window.requestAnimationFrame.bind(window);
  const callbacks = new FrameCallbacks(
    (callback) => request((roughMs) => callback(scriptMs(clock.enterFrame(roughMs)))),
    window.cancelAnimationFrame.bind(window),
  );
  window.requestAnimationFrame = (callback) => callbacks.request(callback);
  window.cancelAnimationFrame = (handle) => callbacks.cancel(handle);

  const timeline = Object.getOwnPropertyDescriptor(AnimationTimeline.prototype, "currentTime");
  Object.defineProperty(document.timeline, "currentTime", {
    configurable: true,
    get: () => {
      const rough: unknown = timeline?.get?.call(document.timeline);
      return typeof rough === "number" ? clock.enterFrame(rough) : rough;
    },
  });
  return callbacks;
}

function replaceTimers(clock: ExactClock): void {
  const setTimeoutNative = window.setTimeout.bind(window) as typeof window.setTimeout;
  const setIntervalNative = window.setInterval.bind(window) as typeof window.setInterval;

  const timeout = (handler: TimerHandler, delayMs?: number, ...args: unknown[]): number => {
    const call = callbackOf(handler);
    const setAtMs = clock.now();
    return setTimeoutNative(() => {
      clock.enterTimer(setAtMs);
      call.apply(window, args);
    }, delayMs);
  };
  const interval = (handler: TimerHandler, delayMs?: number, ...args: unknown[]): number => {
    const call = callbackOf(handler);
    let sinceMs = clock.now();
    return setIntervalNative(() => {
      sinceMs = clock.enterTimer(sinceMs);
      call.apply(window, args);
    }, delayMs);
  };
  window.setTimeout = timeout as typeof window.setTimeout;
  window.setInterval = interval as typeof window.setInterval;
}

/** A handler may be a text, too: then it runs as a script of its own. */
function callbackOf(handler: TimerHandler): Callback {
  if (typeof handler === "function") return handler as Callback;
  // Called by another name it sees only what is global.
  const evaluate = globalThis.eval;
  return () => evaluate(String(handler)) as unknown;
}

function replaceDate(nowMs: () => number): void {
  const NativeDate = window.Date;
  NativeDate.now = nowMs;
  window.Date = new Proxy(NativeDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [nowMs()] : args, newTarget) as object,
    apply: () => new NativeDate(nowMs()).toString(),
  });
  // Code that asks a value for its class must find the replacement.
  NativeDate.prototype.constructor = window.Date;
}

/**
 * Start what runs already at frame 0. Only needed when frames were drawn before it: otherwise
 * the first frame ever is the start of all animations.
 */
export function restartAnimations(zeroTickMs: number): void {
  for (const animation of animationsOfPage()) {
    if (animation.playState !== "running" || typeof animation.currentTime !== "number") continue;
    animation.startTime = zeroTickMs - Math.round(animation.currentTime);
  }
}
