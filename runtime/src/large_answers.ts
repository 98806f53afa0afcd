/**
 * Files that are too large for one answer of the renderer come in pieces. `fetch` puts them together
 * again, so that a page that asks for a whole file gets one. `capture/network.py` is the other side.
 */

const CONTENT_RANGE = /^bytes 0-(\d+)\/(\d+)$/;

type Fetch = typeof fetch;

/** Return a `fetch` that reads on where an answer is the first piece of a file. */
export function joiningPieces(plain: Fetch): Fetch {
  return async (input, init) => {
    const answer = await plain(input, init);
    const told = CONTENT_RANGE.exec(answer.headers.get("content-range") ?? "");
    if (answer.status !== 206 || told === null || asksForPart(input, init)) return answer;
    const rest = new Rest(plain, answer, Number(told[1]) + 1, Number(told[2]));
    return wholeOf(answer, rest.stream(optionsOf(input, init)), Number(told[2]));
  };
}

function asksForPart(input: RequestInfo | URL, init?: RequestInit): boolean {
  const given = init?.headers ?? (input instanceof Request ? input.headers : undefined);
  return new Headers(given).has("range");
}

/** What the requests for further pieces have in common with the first one. */
function optionsOf(input: RequestInfo | URL, init?: RequestInit): RequestInit {
  const asked = input instanceof Request ? input : null;
  const signal = init?.signal ?? asked?.signal;
  return {
    credentials: init?.credentials ?? asked?.credentials ?? "same-origin",
    ...(signal ? { signal } : {}),
  };
}

function wholeOf(answer: Response, stream: ReadableStream<Uint8Array>, size: number): Response {
  const headers = new Headers(answer.headers);
  headers.delete("content-range");
  headers.set("content-length", String(size));
  const whole = new Response(stream, { status: 200, headers });
  Object.defineProperty(whole, "url", { value: answer.url });
  return whole;
}

class Rest {
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

  /** Piece after piece, each asked for when the one before it has been taken. */
  stream(options: RequestInit): ReadableStream<Uint8Array> {
    let isFirst = true;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const piece = isFirst ? this.first : await this.ask(options);
          isFirst = false;
          controller.enqueue(new Uint8Array(await piece.arrayBuffer()));
          if (this.next >= this.size) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
  }

  private async ask(options: RequestInit): Promise<Response> {
    const headers = { Range: `bytes=${this.next}-` };
    const piece = await this.plain(this.first.url, { ...options, headers });
    const told = /^bytes (\d+)-(\d+)\//.exec(piece.headers.get("content-range") ?? "");
    if (piece.status !== 206 || told === null || Number(told[1]) !== this.next) {
      throw new TypeError(`the file broke off at byte ${this.next} of ${this.size}`);
    }
    this.next = Number(told[2]) + 1;
    return piece;
  }
}
