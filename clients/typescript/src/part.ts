/** What the parts of the client share. */

import type { Connection, Method, PathOf, ResultOf } from "./connection.ts";
import { sleep } from "./connection.ts";
import type { OnFraction } from "./progress.ts";
import type { paths } from "./schema.ts";

/** The JSON body of a request, by its path. */
export type JsonBody<P extends keyof paths, M extends Method = "post"> =
  paths[P] extends Record<M, { requestBody: { content: { "application/json": infer B } } }>
    ? B
    : paths[P] extends Record<M, { requestBody?: { content: { "application/json": infer B } } }>
      ? B
      : never;

/** The query of a list, without the position in it. */
export type Filter<P extends keyof paths> = paths[P] extends {
  get: { parameters: { query?: infer Q } };
}
  ? Omit<Exclude<Q, undefined>, "cursor" | "limit" | "page" | "per_page">
  : never;

/** The items of a list: its only field that is an array. */
type ItemOf<R> = {
  [K in keyof R]: R[K] extends readonly (infer I)[] ? I : never;
}[keyof R];
export type Item<P extends PathOf<"get">> = ItemOf<ResultOf<"get", P>>;

export interface WaitOptions {
  /** Called with the fraction that is done, 0 to 1. */
  onProgress?: OnFraction;
  signal?: AbortSignal;
}

export interface IdempotencyOptions {
  /** The same call with the same key returns what the first one made. */
  idempotencyKey?: string;
}

const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 3_000;

export class Part {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Yields what is listed under `name`; the next page is requested when it is needed. */
  protected async *items<P extends PathOf<"get">>(
    path: P,
    name: string,
    { places, query }: { places?: Record<string, string>; query?: object } = {},
  ): AsyncGenerator<Item<P>> {
    let cursor: string | null | undefined;
    do {
      const parts = { path: places, query: { ...query, ...(cursor ? { cursor } : {}) } };
      const page = (await this.connection.request("get", path, parts as never)) as {
        next_cursor?: string | null;
        [name: string]: unknown;
      };
      yield* page[name] as Item<P>[];
      cursor = page.next_cursor;
    } while (cursor);
  }

  /** Yields what is listed on the numbered pages of v2. */
  protected async *numberedItems<P extends PathOf<"get">>(
    path: P,
    places?: Record<string, string>,
  ): AsyncGenerator<Item<P>> {
    for (let page = 1, last = 1; page <= last; page++) {
      const parts = { path: places, query: { page, per_page: 100 } };
      const found = (await this.connection.request("get", path, parts as never)) as {
        data: Item<P>[];
        meta: { last_page: number };
      };
      yield* found.data;
      last = found.meta.last_page;
    }
  }

  /** Reads until it is done, with pauses that grow while nothing changes. */
  protected async poll<T>(
    read: () => Promise<T>,
    isDone: (found: T) => boolean,
    signal?: AbortSignal,
  ): Promise<T> {
    let before = "";
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(1.5 * pauseMs, MAX_PAUSE_MS)) {
      const found = await read();
      if (isDone(found)) return found;
      const now = JSON.stringify(found);
      if (now !== before) pauseMs = FIRST_PAUSE_MS;
      before = now;
      await sleep(pauseMs, signal);
    }
  }

  /** Returns media as a response: stream its `body`, or take its `blob()`. */
  protected media(address: string, signal?: AbortSignal): Promise<Response> {
    return this.connection.retried(address, { method: "GET", signal });
  }
}

/** The headers of a request that may be sent again. */
export function keyHeaders(key?: string): Record<string, string> {
  return { "Idempotency-Key": key ?? crypto.randomUUID() };
}

/** An address with its query; values that are undefined are left out. */
export function withQuery(address: string, query: Record<string, unknown>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) search.set(name, String(value));
  }
  return search.size > 0 ? `${address}?${search}` : address;
}
