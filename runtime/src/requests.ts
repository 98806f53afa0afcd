/**
 * Requests of scripts. Virtual time stands still until the last byte of an answer has come, but not
 * until the script has it: while the page loads, no time passes before that either. Otherwise it
 * would depend on the machine how many timers fire before a script sees its answer.
 */

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;
type Reader = (this: Response) => Promise<unknown>;

/** A page that asks without end would never be ready; then time passes as it may. */
const MAX_REQUESTS = 500;

export class Requests {
  private readonly waiting = new Map<object, string>();
  private count = 0;

  /** Called before any script of the page. */
  install(): void {
    this.trackFetch();
    this.trackReaders();
    this.trackXhr();
  }

  pending(): string[] {
    return this.count > MAX_REQUESTS ? [] : [...this.waiting.values()];
  }

  failure(): string {
    return "";
  }

  private trackFetch(): void {
    const plain = globalThis.fetch.bind(globalThis);
    globalThis.fetch = (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      return this.track(plain(input, init), url);
    };
  }

  private trackReaders(): void {
    const prototype = Response.prototype as unknown as Record<string, Reader | undefined>;
    for (const name of READERS) {
      const plain = prototype[name];
      if (plain === undefined) continue;
      const track = <T>(read: Promise<T>, url: string): Promise<T> => this.track(read, url);
      prototype[name] = function tracked(this: Response): Promise<unknown> {
        return track(plain.call(this), this.url);
      };
    }
  }

  private trackXhr(): void {
    if (typeof XMLHttpRequest !== "function") return;
    const begin = (request: XMLHttpRequest): (() => void) =>
      this.begin(request, "an XMLHttpRequest");
    const plain = XMLHttpRequest.prototype.send;
    XMLHttpRequest.prototype.send = function tracked(body): void {
      const forget = begin(this);
      this.addEventListener("loadend", forget, { once: true });
      try {
        plain.call(this, body);
      } catch (error) {
        forget();
        throw error;
      }
    };
  }

  /** Return the same promise, so that those who wait for it go on right after it is removed here. */
  track<T>(work: Promise<T>, url: string): Promise<T> {
    const forget = this.begin(work, `fetch ${url.slice(0, 120)}`);
    work.then(forget, forget);
    return work;
  }

  private begin(work: object, name: string): () => void {
    this.count += 1;
    this.waiting.set(work, name);
    return () => void this.waiting.delete(work);
  }
}
