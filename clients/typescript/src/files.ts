/** Files: upload, show and delete them, and what the service makes of them. */

import type { ResultOf } from "./connection.ts";
import { FramekilnError } from "./errors.ts";
import { followProgress } from "./progress.ts";
import { Part } from "./part.ts";
import type { Filter, Item, JsonBody, WaitOptions } from "./part.ts";
import { sendChunks, upload } from "./uploads.ts";
import type { RemoteFile, UploadOptions } from "./uploads.ts";

type Md5File = ResultOf<"get", "/api/v1/files/md5/{md5}">;

export class Files extends Part {
  /** Uploads a `Blob` or `File`; an interrupted upload resumes with `fileId`. */
  upload(content: Blob, options?: UploadOptions): Promise<RemoteFile> {
    return upload(this.connection, content, options);
  }

  get(id: string): Promise<RemoteFile> {
    return this.connection.request("get", "/api/v1/files/{file_id}", { path: { file_id: id } });
  }

  /** Yields files, newest first; `search` is text in their names. */
  list(query: Filter<"/api/v1/files"> = {}): AsyncGenerator<Item<"/api/v1/files">> {
    return this.items("/api/v1/files", "files", { query });
  }

  /** Returns the newest file with this MD5, or null. */
  async byMd5(md5: string): Promise<Md5File | null> {
    try {
      return await this.connection.request("get", "/api/v1/files/md5/{md5}", { path: { md5 } });
    } catch (error) {
      if (error instanceof FramekilnError && error.status === 404) return null;
      throw error;
    }
  }

  /** Returns a file when it is ready; throws the reason if it failed. */
  async waitReady(id: string, { onProgress, signal }: WaitOptions = {}): Promise<RemoteFile> {
    await followProgress(this.connection, `/api/v1/files/${id}/progress`, onProgress, signal);
    return this.get(id);
  }

  /** Returns the content as it was uploaded. */
  download(id: string, signal?: AbortSignal): Promise<Response> {
    return this.media(`/api/v1/files/${id}/content`, signal);
  }

  async delete(id: string): Promise<void> {
    await this.connection.send(`/api/v1/files/${id}`, { method: "DELETE" });
  }

  /** Yields the namespaces that pipelines have written for a file. */
  namespaces(id: string): AsyncGenerator<Item<"/api/v1/files/{file_id}/metadata">> {
    return this.items("/api/v1/files/{file_id}/metadata", "namespaces", {
      places: { file_id: id },
    });
  }

  /** Yields the latest entries of a namespace, in order. */
  metadata(
    id: string,
    namespace: string,
  ): AsyncGenerator<Item<"/api/v1/files/{file_id}/metadata/{namespace}">> {
    return this.items("/api/v1/files/{file_id}/metadata/{namespace}", "outputs", {
      places: { file_id: id, namespace },
    });
  }

  /** Returns a frame of a video by its number, from 0. */
  async frame(id: string, number: number): Promise<Blob> {
    return (await this.media(`/api/v1/files/${id}/frames/number/${number}.jpg`)).blob();
  }

  /** Returns when each frame of a video is shown. */
  frameTimes(id: string): Promise<ResultOf<"get", "/api/v1/files/{file_id}/frame-times">> {
    const path = { file_id: id };
    return this.connection.request("get", "/api/v1/files/{file_id}/frame-times", { path });
  }

  /** Returns a frame that a `sample_frames` step took. */
  async sampledFrame(id: string, atMs: number): Promise<Blob> {
    return (await this.media(`/api/v1/files/${id}/frames/${atMs}.jpg`)).blob();
  }

  /** Returns a sheet of thumbnails of a video. */
  async thumbnails(id: string): Promise<Blob> {
    return (await this.media(`/api/v1/files/${id}/thumbnails.jpg`)).blob();
  }

  /** Returns the loudness of a file over its time. */
  waveform(id: string): Promise<ResultOf<"get", "/api/v1/files/{file_id}/waveform.json">> {
    const path = { file_id: id };
    return this.connection.request("get", "/api/v1/files/{file_id}/waveform.json", { path });
  }

  /** Returns the tracks of a file and where their fragments are. */
  index(id: string): Promise<ResultOf<"get", "/api/v1/files/{file_id}/index">> {
    return this.connection.request("get", "/api/v1/files/{file_id}/index", {
      path: { file_id: id },
    });
  }

  /** Returns one track as MP4. */
  track(id: string, trackId: number, signal?: AbortSignal): Promise<Response> {
    return this.media(`/api/v1/files/${id}/tracks/${trackId}`, signal);
  }

  /** Registers a prepared track, which is used as it is. */
  createTrack(
    id: string,
    body: JsonBody<"/api/v1/files/{file_id}/tracks">,
  ): Promise<ResultOf<"post", "/api/v1/files/{file_id}/tracks">> {
    const path = { file_id: id };
    return this.connection.request("post", "/api/v1/files/{file_id}/tracks", { path, body });
  }

  /** Uploads a prepared track: a fragmented MP4. */
  uploadTrack(
    id: string,
    trackId: number,
    content: Blob,
    options: UploadOptions = {},
  ): Promise<void> {
    const address = `/api/v1/files/${id}/tracks/${trackId}/upload`;
    return sendChunks(this.connection, address, content, options);
  }

  /** Uploads the index of prepared tracks, which completes the file. */
  uploadIndex(
    id: string,
    body: JsonBody<"/api/v1/files/{file_id}/index/upload">,
  ): Promise<ResultOf<"post", "/api/v1/files/{file_id}/index/upload">> {
    const path = { file_id: id };
    return this.connection.request("post", "/api/v1/files/{file_id}/index/upload", { path, body });
  }
}
