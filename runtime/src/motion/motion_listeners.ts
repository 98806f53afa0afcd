/** Notices scripts that react to the motion of a page: what they do is not known beforehand. */

import { animationsOfPage } from "../shadow_roots.ts";

const EVENTS =
  /^(?:webkit)?(?:animation|transition)|^(?:scroll|resize|finish)|^(?:begin|end|repeat)Event$/iu;
const HANDLERS = [
  ...["start", "iteration", "end", "cancel"].map((name) => `onanimation${name}`),
  ...["run", "start", "end", "cancel"].map((name) => `ontransition${name}`),
  // Of animations, and of those in drawings.
  ...["onfinish", "onbegin", "onend", "onrepeat"],
];

// Without a document there are tests only.
export const nativeObserve =
  typeof MutationObserver === "undefined" ? () => {} : MutationObserver.prototype.observe;

let isOwnWork = false;

/** Observers that the function starts are not those of the page. */
export function asOwnWork<T>(call: () => T): T {
  isOwnWork = true;
  try {
    return call();
  } finally {
    isOwnWork = false;
  }
}

export class MotionListeners {
  private isListening = false;
  /** Whether a script is told of changes of the document. */
  isObserving = false;

  /** Called before the page's own scripts. */
  install(): void {
    const notice = (): void => {
      this.isListening = true;
    };
    const add = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function addEventListener(
      this: EventTarget,
      ...args: Parameters<EventTarget["addEventListener"]>
    ): void {
      if (EVENTS.test(args[0])) notice();
      add.apply(this, args);
    };
    for (const name of ["ResizeObserver", "IntersectionObserver"] as const) {
      window[name] = new Proxy(window[name], {
        construct: (target, args, newTarget) => {
          notice();
          return Reflect.construct(target, args, newTarget) as object;
        },
      }) as never;
    }
    const finished = Object.getOwnPropertyDescriptor(Animation.prototype, "finished");
    Object.defineProperty(Animation.prototype, "finished", {
      configurable: true,
      get(this: Animation): unknown {
        notice();
        return finished?.get?.call(this);
      },
    });
  }

  /** Called when our own observers are there. */
  watchObservers(): void {
    const notice = (): void => {
      this.isObserving ||= !isOwnWork;
    };
    MutationObserver.prototype.observe = function observe(
      this: MutationObserver,
      ...args: Parameters<MutationObserver["observe"]>
    ): void {
      notice();
      nativeObserve.apply(this, args);
    };
  }

  hasAny(): boolean {
    return this.isListening;
  }

  /** The same, with the handlers that elements and animations have as properties. */
  hasAnyInPage(): boolean {
    const targets = [window, document, ...document.querySelectorAll("*"), ...animationsOfPage()];
    return this.isListening || targets.some(hasMotionHandler);
  }
}

/** Whether an element, or an animation, has a handler as a property. */
export function hasMotionHandler(target: EventTarget): boolean {
  const values = target as unknown as Record<string, unknown>;
  return HANDLERS.some((name) => typeof values[name] === "function");
}
