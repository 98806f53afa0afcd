/** Videos from layer configs. */

import type { ResultOf } from "./connection.ts";
import { FramekilnError, ProgressFailed } from "./errors.ts";
import { followProgress } from "./progress.ts";
import { Part, withQuery } from "./part.ts";
import type { JsonBody, WaitOptions } from "./part.ts";

export type Video = ResultOf<"get", "/v2/videos/{video_id}">;
export type CreateVideo = JsonBody<"/v2/videos/new">;
export type LayerConfig = CreateVideo["config"];
export type ImageFormat = "jpg" | "png" | "webp";
export type PosterFormat = "jpg" | "webp";
type CreatedVideo = ResultOf<"post", "/v2/videos/new">;

export class Videos extends Part {
  /** Creates a video from a layer config; `files` has the content of layers by their ids. */
  async create(body: CreateVideo, files?: Record<string, Blob>): Promise<CreatedVideo> {
    if (files === undefined) {
      return this.connection.request("post", "/v2/videos/new", { body } as never);
    }
    const form = new FormData();
    for (const [name, value] of Object.entries(body)) {
      if (value !== null && value !== undefined) form.set(name, JSON.stringify(value));
    }
    for (const [layer, content] of Object.entries(files)) form.set(`file${layer}`, content);
    const response = await this.connection.send("/v2/videos", { method: "POST", body: form });
    return (await response.json()) as CreatedVideo;
  }

  get(id: string): Promise<Video> {
    return this.connection.request("get", "/v2/videos/{video_id}", { path: { video_id: id } });
  }

  /** Returns the layer config of a video, with data filled in and defaults. */
  async config(id: string): Promise<Record<string, unknown>> {
    const response = await this.media(`/v2/videos/${id}/config`);
    return (await response.json()) as Record<string, unknown>;
  }

  /** Yields videos, newest first. */
  list(): AsyncGenerator<Video> {
    return this.numberedItems("/v2/videos");
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
    return this.media(`/v2/videos/${id}/download`, signal);
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/v2/videos/${id}`, { method: "DELETE" });
  }

  /** Checks a config and its sources; returns the timeline, and renders nothing. */
  plan(config: LayerConfig): Promise<ResultOf<"post", "/v2/videos/plan">> {
    return this.connection.request("post", "/v2/videos/plan", { body: { config } } as never);
  }

  /** Returns one picture of a config; nothing is stored. */
  async drawFrame(config: LayerConfig, timeS = 0, format: ImageFormat = "png"): Promise<Blob> {
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ config, t: timeS, format });
    const request = { method: "POST", headers, body };
    return (await this.connection.retried("/v2/videos/frame", request)).blob();
  }

  /** Returns one picture of a video. */
  async frame(id: string, timeS = 0, format: ImageFormat = "png"): Promise<Blob> {
    const address = withQuery(`/v2/videos/${id}/frame`, { t: timeS, format });
    return (await this.media(address)).blob();
  }

  /** Returns the picture to show before a video plays. */
  async poster(id: string, query: { at?: number; format?: PosterFormat } = {}): Promise<Blob> {
    return (await this.media(withQuery(`/v2/videos/${id}/poster`, query))).blob();
  }

  /** Returns a small picture of a video. */
  async thumbnail(id: string): Promise<Blob> {
    return (await this.media(`/v2/videos/${id}/thumbnail`)).blob();
  }

  /** Returns the HLS playlist of a video; players get its address in a link. */
  async playlist(id: string): Promise<string> {
    return (await this.media(`/v2/videos/${id}/stream`)).text();
  }

  /** Returns what is in media at a URL, or in a `Blob`, before anything is made of it. */
  async probe(
    source: string | Blob,
    type: "video" | "audio" | "image" = "video",
  ): Promise<ResultOf<"post", "/v2/metadata">> {
    if (typeof source === "string") {
      return this.connection.request("post", "/v2/metadata", { body: { type, url: source } });
    }
    const form = new FormData();
    form.set("type", type);
    form.set("file", source);
    const response = await this.connection.send("/v2/metadata", { method: "POST", body: form });
    return (await response.json()) as ResultOf<"post", "/v2/metadata">;
  }
}
