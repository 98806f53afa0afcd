/**
 * Requests of scripts, and what other threads do for them. Virtual time stands still until the last
 * byte of an answer has come, but not until the script has it: while the page loads, no time passes
 * before that either. Otherwise it would depend on the machine how many timers fire before a script
 * sees its answer, and whether frame 0 shows it.
 */

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;
type Reader = (this: Response) => Promise<unknown>;

/** By the path of their owner. */
const THREADED: Readonly<Record<string, string>> = {
  "": "createImageBitmap",
  WebAssembly: "compile compileStreaming instantiate instantiateStreaming",
  "Blob.prototype": "arrayBuffer bytes text",
  "SubtleCrypto.prototype": "digest sign verify encrypt decrypt importKey deriveBits deriveKey",
};
type Threaded = (this: unknown, ...args: unknown[]) => Promise<unknown>;

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
    for (const [path, names] of Object.entries(THREADED))
      this.trackThreaded(path, names.split(" "));
  }

  pending(): string[] {
    // Who is done for once does not ask without end.
    if (this.waiting.size === 0) this.count = 0;
    return this.count > MAX_REQUESTS ? [] : [...this.waiting.values()];
  }

  failure(): string {
    return "";
  }

  private trackFetch(): void {
    const plain = globalThis.fetch.bind(globalThis);
    globalThis.fetch = (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      return this.track(plain(input, init), requestOf(url));
    };
  }

  private trackReaders(): void {
    const prototype = Response.prototype as unknown as Record<string, Reader | undefined>;
    for (const name of READERS) {
      const plain = prototype[name];
      if (plain === undefined) continue;
      const track = <T>(read: Promise<T>, name: string): Promise<T> => this.track(read, name);
      prototype[name] = function tracked(this: Response): Promise<unknown> {
        return track(plain.call(this), requestOf(this.url));
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

  private trackThreaded(path: string, names: readonly string[]): void {
    const steps = path === "" ? [] : path.split(".");
    const owner = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown> | undefined)?.[step],
      globalThis,
    ) as Record<string, Threaded | undefined> | undefined;
    const track = (work: Promise<unknown>, name: string) => this.track(work, name);
    for (const name of names) {
      const plain = owner?.[name];
      if (owner === undefined || plain === undefined) continue;
      owner[name] = function tracked(this: unknown, ...args: unknown[]): Promise<unknown> {
        return track(plain.apply(this, args), name);
      };
    }
  }

  /** Return the same promise, so that those who wait for it go on right after it is removed here. */
  private track<T>(work: Promise<T>, name: string): Promise<T> {
    const forget = this.begin(work, name);
    work.then(forget, forget);
    return work;
  }

  private begin(work: object, name: string): () => void {
    this.count += 1;
    this.waiting.set(work, name);
    return () => void this.waiting.delete(work);
  }
}

function requestOf(url: string): string {
  return `fetch ${url.slice(0, 120)}`;
}
