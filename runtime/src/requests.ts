/**
 * Requests of scripts. Virtual time stands still until the last byte of an answer has come, but not
 * until the script has it: while the page loads, no time passes before that either. Otherwise it
 * would depend on the machine how many timers fire before a script sees its answer.
 */

const READERS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"] as const;
type Reader = (this: Response) => Promise<unknown>;

export class Requests {
  private readonly waiting = new Map<object, string>();

  /** Called before any script of the page. */
  install(): void {
    this.noticeFetch();
    this.noticeReaders();
    this.noticeXhr();
  }

  pending(): string[] {
    return [...this.waiting.values()];
  }

  failure(): string {
    return "";
  }

  private noticeFetch(): void {
    const plain = window.fetch;
    window.fetch = (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      return this.notice(plain(input, init), url);
    };
  }

  private noticeReaders(): void {
    const prototype = Response.prototype as unknown as Record<string, Reader | undefined>;
    for (const name of READERS) {
      const plain = prototype[name];
      if (plain === undefined) continue;
      const notice = <T>(read: Promise<T>, url: string): Promise<T> => this.notice(read, url);
      prototype[name] = function noticed(this: Response): Promise<unknown> {
        return notice(plain.call(this), this.url);
      };
    }
  }

  private noticeXhr(): void {
    const { waiting } = this;
    const plain = XMLHttpRequest.prototype.send;
    XMLHttpRequest.prototype.send = function noticed(body): void {
      const forget = (): void => void waiting.delete(this);
      waiting.set(this, "an XMLHttpRequest");
      this.addEventListener("loadend", forget, { once: true });
      try {
        plain.call(this, body);
      } catch (error) {
        forget();
        throw error;
      }
    };
  }

  /** The same promise: whoever has waited for it goes on right after it is noticed to have ended. */
  private notice<T>(work: Promise<T>, url: string): Promise<T> {
    this.waiting.set(work, `fetch ${url.slice(0, 120)}`);
    const forget = (): void => void this.waiting.delete(work);
    work.then(forget, forget);
    return work;
  }
}
