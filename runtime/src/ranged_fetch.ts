/**
 * Files that are too large for one response of the renderer are sent in parts. `fetch` joins them, so
 * that a page that requests a file gets all of it. `capture/network.py` is the other side.
 */

const FIRST_PART = /^bytes 0-(\d+)\/(\d+)$/;
const ANY_PART = /^bytes (\d+)-(\d+)\//;

type Fetch = typeof fetch;

/** Return a `fetch` that requests the other parts when a response is the first part of a file. */
export function fetchAllParts(plain: Fetch): Fetch {
  return async (input, init) => {
    const first = await plain(input, init);
    const range = FIRST_PART.exec(first.headers.get("content-range") ?? "");
    if (first.status !== 206 || range === null || hasRange(input, init)) return first;
    const parts = new FileParts(plain, first, Number(range[1]) + 1, Number(range[2]));
    return fullResponse(first, parts.stream(optionsOf(input, init)), Number(range[2]));
  };
}

function hasRange(input: RequestInfo | URL, init?: RequestInit): boolean {
  const headers = init?.headers ?? (input instanceof Request ? input.headers : undefined);
  return new Headers(headers).has("range");
}

/** What the requests for further parts have in common with the first one. */
function optionsOf(input: RequestInfo | URL, init?: RequestInit): RequestInit {
  const request = input instanceof Request ? input : null;
  const signal = init?.signal ?? request?.signal;
  return {
    credentials: init?.credentials ?? request?.credentials ?? "same-origin",
    ...(signal ? { signal } : {}),
  };
}

function fullResponse(first: Response, stream: ReadableStream<Uint8Array>, size: number): Response {
  const headers = new Headers(first.headers);
  headers.delete("content-range");
  headers.set("content-length", String(size));
  const response = new Response(stream, { status: 200, headers });
  Object.defineProperty(response, "url", { value: first.url });
  return response;
}

class FileParts {
  private readonly plain: Fetch;
  private readonly first: Response;
  private next: number;
  private readonly size: number;

  constructor(plain: Fetch, first: Response, next: number, size: number) {
    this.plain = plain;
    this.first = first;
    this.next = next;
    this.size = size;
  }

  /** Each part is requested when the one before it has been read. */
  stream(options: RequestInit): ReadableStream<Uint8Array> {
    let isFirst = true;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const part = isFirst ? this.first : await this.fetchNext(options);
          isFirst = false;
          controller.enqueue(new Uint8Array(await part.arrayBuffer()));
          if (this.next >= this.size) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  private async fetchNext(options: RequestInit): Promise<Response> {
    const headers = { Range: `bytes=${this.next}-` };
    const part = await this.plain(this.first.url, { ...options, headers });
    const range = ANY_PART.exec(part.headers.get("content-range") ?? "");
    if (part.status !== 206 || range === null || Number(range[1]) !== this.next) {
      throw new TypeError(`the file broke off at byte ${this.next} of ${this.size}`);
    }
    this.next = Number(range[2]) + 1;
    return part;
  }
}
