/** Renders of pages: create them, wait for them, download the output. */

import type { ResultOf } from "./connection.ts";
import { FramekilnError } from "./errors.ts";
import { followProgress } from "./progress.ts";
import { Part } from "./part.ts";
import type { Filter, JsonBody, WaitOptions } from "./part.ts";

export type Render = ResultOf<"get", "/api/v1/renders/{render_id}">;
export type CreateRender = JsonBody<"/api/v1/renders">;
type CreatedRender = ResultOf<"post", "/api/v1/renders">;

export class Renders extends Part {
  /** Creates a render; `data` is what the page finds as `EF_RENDER_DATA`. */
  create(body: CreateRender): Promise<CreatedRender> {
    return this.connection.request("post", "/api/v1/renders", { body } as never);
  }

  /** Uploads the page of a render without HTML, a gzip tar with an index.html, and starts it. */
  async uploadBundle(id: string, bundle: Blob): Promise<CreatedRender> {
    const headers = { "Content-Type": "application/octet-stream" };
    const request = { method: "POST", headers, body: bundle };
    const response = await this.connection.send(`/api/v1/renders/${id}/upload`, request);
    return (await response.json()) as CreatedRender;
  }

  get(id: string): Promise<Render> {
    return this.connection.request("get", "/api/v1/renders/{render_id}", {
      path: { render_id: id },
    });
  }

  /** Returns the newest render that was created with this MD5, or null. */
  async byMd5(md5: string): Promise<Render | null> {
    try {
      return await this.connection.request("get", "/api/v1/renders/md5/{md5}", { path: { md5 } });
    } catch (error) {
      if (error instanceof FramekilnError && error.status === 404) return null;
      throw error;
    }
  }

  /** Yields renders, newest first. */
  list(query: Filter<"/api/v1/renders"> = {}): AsyncGenerator<Render> {
    return this.items("/api/v1/renders", "renders", { query });
  }

  /** Returns a render when it is complete; throws the reason if it failed. */
  async wait(id: string, { onProgress, signal }: WaitOptions = {}): Promise<Render> {
    await followProgress(this.connection, `/api/v1/renders/${id}/progress`, onProgress, signal);
    return this.get(id);
  }

  /** Returns the film or still: stream its `body`, or take its `blob()`. */
  download(id: string, signal?: AbortSignal): Promise<Response> {
    return this.media(`/api/v1/renders/${id}.mp4`, signal);
  }

  /** Returns the HTML of a render. */
  async source(id: string): Promise<string> {
    return (await this.media(`/api/v1/renders/${id}/source`)).text();
  }

  /** Returns what a render was asked to be: size, rate, length, output, data. */
  request(id: string): Promise<ResultOf<"get", "/api/v1/renders/{render_id}/request">> {
    const path = { render_id: id };
    return this.connection.request("get", "/api/v1/renders/{render_id}/request", { path });
  }

  /** Returns the slices of a render, each with its progress, method, times and console. */
  async slices(
    id: string,
  ): Promise<ResultOf<"get", "/api/v1/renders/{render_id}/slices">["slices"]> {
    const path = { render_id: id };
    const found = this.connection.request("get", "/api/v1/renders/{render_id}/slices", { path });
    return (await found).slices;
  }

  /** Creates a render with the composition, data and settings of another. */
  repeat(id: string): Promise<ResultOf<"post", "/api/v1/renders/{render_id}/again">> {
    const path = { render_id: id };
    return this.connection.request("post", "/api/v1/renders/{render_id}/again", { path });
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/api/v1/renders/${id}`, { method: "DELETE" });
  }
}
