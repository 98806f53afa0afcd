/** The client of one service: Node, browsers and edge runtimes. */

import { Connection } from "./connection.ts";
import type { ClientOptions, Method, PathOf, ResultOf } from "./connection.ts";
import { FramekilnError, ProgressFailed } from "./errors.ts";
import { followProgress } from "./events.ts";
import type { OnFraction } from "./events.ts";
import type { paths } from "./schema.ts";
import { upload } from "./uploads.ts";
import type { RemoteFile, UploadOptions } from "./uploads.ts";

export { FramekilnError, ServiceUnreachable } from "./errors.ts";
export { verifyWebhook } from "./webhooks.ts";
export type { WebhookEvent } from "./webhooks.ts";
export type { ClientOptions, OnFraction, RemoteFile, UploadOptions };
export type { components, operations, paths } from "./schema.ts";

type JsonBody<P extends keyof paths> = paths[P] extends {
  post: { requestBody: { content: { "application/json": infer B } } };
}
  ? B
  : paths[P] extends { post: { requestBody?: { content: { "application/json": infer B } } } }
    ? B
    : never;

export type Render = ResultOf<"get", "/api/v1/renders/{render_id}">;
export type Video = ResultOf<"get", "/v2/videos/{video_id}">;
export type CreateRender = JsonBody<"/api/v1/renders">;
export type CreateVideo = JsonBody<"/v2/videos/new">;
export type CreateTemplate = JsonBody<"/v2/templates">;

export interface WaitOptions {
  /** Called with the fraction that is done, 0 to 1. */
  onProgress?: OnFraction;
  signal?: AbortSignal;
}

export class Client {
  readonly renders: Renders;
  readonly videos: Videos;
  readonly templates: Templates;
  readonly files: Files;
  readonly #connection: Connection;

  constructor(options: ClientOptions) {
    const connection = new Connection(options);
    this.#connection = connection;
    this.renders = new Renders(connection);
    this.videos = new Videos(connection);
    this.templates = new Templates(connection);
    this.files = new Files(connection);
  }

  /**
   * Sends any request of the API, typed by its path:
   * `client.request("get", "/api/v1/pipeline-runs/{run_id}", { path: { run_id } })`.
   */
  request<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    parts?: Parameters<typeof Connection.prototype.request<M, P>>[2],
  ): Promise<ResultOf<M, P>> {
    return this.#connection.request(method, path, parts);
  }
}

/** What the parts of the client share. */
class Part {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}

export class Renders extends Part {
  /** Creates a render; `data` is what the page finds as `EF_RENDER_DATA`. */
  create(body: CreateRender): Promise<ResultOf<"post", "/api/v1/renders">> {
    return this.connection.request("post", "/api/v1/renders", { body } as never);
  }

  get(id: string): Promise<Render> {
    return this.connection.request("get", "/api/v1/renders/{render_id}", {
      path: { render_id: id },
    });
  }

  /** Yields renders, newest first. */
  async *list(query: { status?: Render["status"] } = {}): AsyncGenerator<Render> {
    let cursor: string | null | undefined;
    do {
      const page = await this.connection.request("get", "/api/v1/renders", {
        query: { ...query, ...(cursor ? { cursor } : {}) },
      });
      yield* page.renders;
      cursor = page.next_cursor;
    } while (cursor);
  }

  /** Returns a render when it is complete; throws the reason if it failed. */
  async wait(id: string, { onProgress, signal }: WaitOptions = {}): Promise<Render> {
    await followProgress(this.connection, `/api/v1/renders/${id}/progress`, onProgress, signal);
    return this.get(id);
  }

  /** Returns the output: stream its `body`, or take its `blob()`. */
  download(id: string, signal?: AbortSignal): Promise<Response> {
    return this.connection.retried(`/api/v1/renders/${id}.mp4`, { method: "GET", signal });
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/api/v1/renders/${id}`, { method: "DELETE" });
  }
}

export class Videos extends Part {
  /** Creates a video from a layer config. */
  create(body: CreateVideo): Promise<ResultOf<"post", "/v2/videos/new">> {
    return this.connection.request("post", "/v2/videos/new", { body } as never);
  }

  get(id: string): Promise<Video> {
    return this.connection.request("get", "/v2/videos/{video_id}", { path: { video_id: id } });
  }

  /** Yields videos, newest first. */
  async *list(): AsyncGenerator<Video> {
    for (let page = 1, last = 1; page <= last; page++) {
      const found = await this.connection.request("get", "/v2/videos", {
        query: { page, per_page: 100 },
      });
      yield* found.data;
      last = found.meta.last_page;
    }
  }

  /** Returns a video when it is ready; throws the reason if it failed. */
  async wait(id: string, { onProgress, signal }: WaitOptions = {}): Promise<Video> {
    let failed: ProgressFailed | undefined;
    try {
      await followProgress(this.connection, `/v2/videos/${id}/progress`, onProgress, signal);
    } catch (error) {
      if (!(error instanceof ProgressFailed)) throw error;
      failed = error;
    }
    const video = await this.get(id);
    if (video.error) {
      // It also says which layer is wrong, and where.
      const { code, message } = video.error;
      throw new FramekilnError(`${code}: ${message}`, code, null, { ...video.error });
    }
    if (failed) throw failed;
    return video;
  }

  /** Returns the file: stream its `body`, or take its `blob()`. */
  download(id: string, signal?: AbortSignal): Promise<Response> {
    return this.connection.retried(`/v2/videos/${id}/download`, { method: "GET", signal });
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/v2/videos/${id}`, { method: "DELETE" });
  }
}

export class Templates extends Part {
  /** Stores a layer config with named inputs. */
  create(body: CreateTemplate): Promise<ResultOf<"post", "/v2/templates">> {
    return this.connection.request("post", "/v2/templates", { body } as never);
  }

  /** Fills a template with data and creates the video. */
  async render(
    id: string,
    data: Record<string, unknown>,
  ): Promise<ResultOf<"post", "/v2/templates/{template_id}/render">["data"]["video"]> {
    const made = await this.connection.request("post", "/v2/templates/{template_id}/render", {
      path: { template_id: id },
      body: { data: data as never },
    });
    return made.data.video;
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/v2/templates/${id}`, { method: "DELETE" });
  }
}

export class Files extends Part {
  /** Uploads a `Blob` or `File`; an interrupted upload resumes with `fileId`. */
  upload(content: Blob, options?: UploadOptions): Promise<RemoteFile> {
    return upload(this.connection, content, options);
  }

  get(id: string): Promise<RemoteFile> {
    return this.connection.request("get", "/api/v1/files/{file_id}", { path: { file_id: id } });
  }

  /** Yields files, newest first; `search` is text in their names. */
  async *list(
    query: { search?: string } = {},
  ): AsyncGenerator<ResultOf<"get", "/api/v1/files">["files"][number]> {
    let cursor: string | null | undefined;
    do {
      const page = await this.connection.request("get", "/api/v1/files", {
        query: { ...query, ...(cursor ? { cursor } : {}) },
      });
      yield* page.files;
      cursor = page.next_cursor;
    } while (cursor);
  }

  /** Returns a file when it is ready; throws the reason if it failed. */
  async waitReady(id: string, { onProgress, signal }: WaitOptions = {}): Promise<RemoteFile> {
    await followProgress(this.connection, `/api/v1/files/${id}/progress`, onProgress, signal);
    return this.get(id);
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/api/v1/files/${id}`, { method: "DELETE" });
  }
}
