/**
 * Workers that do nothing but keep time, run on the page's own clock.
 *
 * Libraries for sound set their timers in a worker, since browsers slow down those of hidden pages.
 * Real workers run by the wall clock, which has nothing to do with the film's. So a short script
 * that only sets timers and sends messages runs here, in the page; all others are real workers.
 */

type Callback = (...args: unknown[]) => unknown;

const MAX_CHARACTERS = 16_384;
const TIMERS = /\bset(?:Timeout|Interval)\b/;
/** What is there for work, not for time. */
const WORK =
  /\b(?:importScripts|import|fetch|XMLHttpRequest|WebSocket|OffscreenCanvas|WebAssembly|Atomics|SharedArrayBuffer|indexedDB|caches|createImageBitmap|requestAnimationFrame)\b/;

/** Whether a script does nothing that needs a worker. */
export function onlyKeepsTime(script: string): boolean {
  return script.length <= MAX_CHARACTERS && TIMERS.test(script) && !WORK.test(script);
}

/** Called after the page's clock is in place and before the page's own scripts. */
export function replaceTimerWorkers(): void {
  if (typeof Worker !== "function") return;
  const later = window.setTimeout.bind(window) as (callback: () => void) => void;
  window.Worker = new Proxy(Worker, {
    construct: (target, args: [string | URL, WorkerOptions?], newTarget) => {
      const script = args[1]?.type === "module" ? null : readScript(String(args[0]));
      if (script === null || !onlyKeepsTime(script)) {
        return Reflect.construct(target, args, newTarget) as object;
      }
      try {
        return new TimerWorker(script, later);
      } catch {
        // The page allows no script that is made of text.
        return Reflect.construct(target, args, newTarget) as object;
      }
    },
  });
}

class TimerWorker extends EventTarget {
  onmessage: Callback | null = null;
  onerror: Callback | null = null;
  onmessageerror: Callback | null = null;
  private readonly inside = new EventTarget();
  private readonly scope: Record<PropertyKey, unknown>;
  private readonly later: (callback: () => void) => void;
  private isOver = false;

  constructor(script: string, later: (callback: () => void) => void) {
    super();
    this.later = later;
    this.scope = this.makeScope();
    const names = new Proxy(this.scope, {
      // A name that nobody has set would otherwise become one of the page.
      has: () => true,
      get: (scope, name) => (name in scope ? scope[name] : fromPage(name)),
    });
    this.scope["self"] = names;
    this.scope["globalThis"] = names;
    const run = new Function("scope", `with (scope) {${script}\n}`) as Callback;
    later(() => this.whileOpen(() => run(names)));
  }

  postMessage(data: unknown, options?: StructuredSerializeOptions | Transferable[]): void {
    const copy: unknown = structuredClone(data, serializing(options));
    this.later(() => this.whileOpen(() => deliver(this.inside, this.scope, copy)));
  }

  terminate(): void {
    this.isOver = true;
  }

  private makeScope(): Record<PropertyKey, unknown> {
    const whileOpen = (call: unknown): Callback => {
      return (...args) => this.whileOpen(() => (call as Callback)(...args));
    };
    return {
      onmessage: null,
      postMessage: (data: unknown, options?: StructuredSerializeOptions | Transferable[]) => {
        const copy: unknown = structuredClone(data, serializing(options));
        this.later(() => this.whileOpen(() => deliver(this, this, copy)));
      },
      close: () => this.terminate(),
      addEventListener: this.inside.addEventListener.bind(this.inside),
      removeEventListener: this.inside.removeEventListener.bind(this.inside),
      setTimeout: (call: unknown, ...rest: [number?]) => setTimeout(whileOpen(call), ...rest),
      setInterval: (call: unknown, ...rest: [number?]) => setInterval(whileOpen(call), ...rest),
    };
  }

  private whileOpen(call: () => unknown): void {
    if (!this.isOver) call();
  }
}

/** What is handed over may be named in a list or among options. */
function serializing(
  options: StructuredSerializeOptions | Transferable[] | undefined,
): StructuredSerializeOptions {
  return Array.isArray(options) ? { transfer: options } : (options ?? {});
}

function deliver(target: EventTarget, owner: { onmessage?: unknown }, data: unknown): void {
  const event = new MessageEvent("message", { data });
  target.dispatchEvent(event);
  if (typeof owner.onmessage === "function") (owner.onmessage as Callback).call(owner, event);
}

function fromPage(name: PropertyKey): unknown {
  const value = (window as unknown as Record<PropertyKey, unknown>)[name];
  const isPlain = typeof value === "function" && !("prototype" in value);
  return isPlain ? (value as Callback).bind(window) : value;
}

/** The text behind an address that the page itself has made; null for any other. */
function readScript(url: string): string | null {
  if (!url.startsWith("blob:") && !url.startsWith("data:")) return null;
  try {
    const exchange = new XMLHttpRequest();
    exchange.open("GET", url, false);
    exchange.send();
    return exchange.responseText;
  } catch {
    return null;
  }
}
