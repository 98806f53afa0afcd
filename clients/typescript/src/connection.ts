/** Requests to the service: the key, errors, retries, and types of the OpenAPI document. */

import { errorOf, ServiceUnreachable } from "./errors.ts";
import type { paths } from "./schema.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";
/** The paths of the API that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type OperationOf<M extends Method, P extends keyof paths> =
  paths[P] extends Record<M, infer O> ? O : never;
type ParametersOf<O, Place extends string> = O extends { parameters: infer P }
  ? Place extends keyof P
    ? Exclude<P[Place], undefined>
    : undefined
  : undefined;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer B } } }
  ? B
  : O extends { requestBody: { content: { "application/json": infer B } } }
    ? B
    : undefined;
type Success = 200 | 201 | 202;
/** The JSON that an operation returns. */
export type ResultOf<M extends Method, P extends keyof paths> =
  OperationOf<M, P> extends { responses: infer R }
    ? {
        [S in keyof R & Success]: R[S] extends { content: { "application/json": infer V } }
          ? V
          : never;
      }[keyof R & Success]
    : never;

/** What a request needs; the types are those of the operation. */
export interface RequestParts<O> {
  path?: ParametersOf<O, "path">;
  query?: ParametersOf<O, "query">;
  body?: BodyOf<O>;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface ClientOptions {
  /** Where the service is, such as `https://films.example.com`. */
  baseUrl: string;
  /** An API key. Browsers of strangers get a token or a session instead: keys are secret. */
  apiKey?: string;
  /** By default the `fetch` of the platform. */
  fetch?: typeof fetch;
  /** How long idempotent requests are retried, in milliseconds. */
  retryWithinMs?: number;
}

export interface RawRequest {
  method: string;
  headers?: Record<string, string>;
  body?: BodyInit;
  signal?: AbortSignal | undefined;
}

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;

/** Pauses between attempts, which grow until the time limit is reached. */
export class Retry {
  readonly #withinMs: number;
  #deadline = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(withinMs: number) {
    this.#withinMs = withinMs;
    this.recordProgress();
  }

  /** Restarts the time limit: there was progress. */
  recordProgress(): void {
    this.#deadline = performance.now() + this.#withinMs;
    this.#pauseMs = FIRST_PAUSE_MS;
  }

  /** Waits before the next attempt; throws what a retry cannot help, or when it is too late. */
  async pauseAfter(error: unknown, signal?: AbortSignal): Promise<void> {
    if (!(error instanceof ServiceUnreachable)) throw error;
    const pauseMs = Math.max(this.#pauseMs, 1000 * (error.retryAfterS ?? 0));
    if (performance.now() + pauseMs > this.#deadline) throw error;
    this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    await sleep(pauseMs, signal);
  }
}

/** A connection to one service. */
export class Connection {
  readonly baseUrl: string;
  readonly retryWithinMs: number;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl.replace(/\/+$/, "");
    this.retryWithinMs = options.retryWithinMs ?? 120_000;
    // Called as a method, the fetch of browsers refuses to work.
    const given = options.fetch ?? globalThis.fetch;
    this.#fetch = (input, init) => given(input, init);
    this.#headers = options.apiKey ? { Authorization: `Bearer ${options.apiKey}` } : {};
  }

  /** Sends any request of the API once, or until it works if it only reads. */
  async request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    parts: RequestParts<OperationOf<M, P>> = {},
  ): Promise<ResultOf<M, P>> {
    const address = addressOf(String(path), parts.path, parts.query);
    const init: RawRequest = { method: method.toUpperCase(), signal: parts.signal };
    // Small files are sent as they are to whoever does not ask for their record.
    init.headers = { Accept: "application/json", ...parts.headers };
    if (parts.body !== undefined) {
      init.headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(parts.body);
    }
    const response =
      method === "get" ? await this.retried(address, init) : await this.send(address, init);
    return (await response.json()) as ResultOf<M, P>;
  }

  /** Sends an idempotent request until there is a response. */
  async retried(address: string, init: RawRequest): Promise<Response> {
    const retry = new Retry(this.retryWithinMs);
    for (;;) {
      try {
        return await this.send(address, init);
      } catch (error) {
        await retry.pauseAfter(error, init.signal ?? undefined);
      }
    }
  }

  /** Sends a request once; throws the error of the response. */
  async send(address: string, init: RawRequest): Promise<Response> {
    let response: Response;
    try {
      response = await this.#fetch(this.baseUrl + address, {
        ...init,
        signal: init.signal ?? null,
        headers: { ...this.#headers, ...init.headers },
      });
    } catch (error) {
      if (init.signal?.aborted) throw error;
      throw new ServiceUnreachable(`${this.baseUrl} does not answer: ${String(error)}`);
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  }
}

function addressOf(path: string, places: unknown, query: unknown): string {
  const values = (places ?? {}) as Record<string, unknown>;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries((query ?? {}) as Record<string, unknown>)) {
    if (value !== undefined && value !== null) search.set(name, String(value));
  }
  return search.size > 0 ? `${filled}?${search}` : filled;
}

/** Waits; rejects as soon as the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
