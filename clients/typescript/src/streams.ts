/** Streamed uploads: fragments of tracks that are used while more of them arrive. */

import type { ResultOf } from "./connection.ts";
import { Part, withQuery } from "./part.ts";
import type { JsonBody } from "./part.ts";

export type Stream = ResultOf<"get", "/api/v1/files/{file_id}/stream">;

export class Streams extends Part {
  /** Registers a stream and its tracks. */
  create(
    body: JsonBody<"/api/v1/files/stream">,
  ): Promise<ResultOf<"post", "/api/v1/files/stream">> {
    return this.connection.request("post", "/api/v1/files/stream", { body });
  }

  /** Returns how many fragments of each track have arrived. */
  get(fileId: string): Promise<Stream> {
    return this.connection.request("get", "/api/v1/files/{file_id}/stream", {
      path: { file_id: fileId },
    });
  }

  /** Sends the init segment of a track. */
  async putInit(fileId: string, trackId: number, content: Blob): Promise<void> {
    await this.#put(`/api/v1/files/${fileId}/stream/${trackId}/init`, content);
  }

  /** Sends a fragment of a track; they are numbered from 0. */
  async putFragment(fileId: string, trackId: number, number: number, content: Blob): Promise<void> {
    await this.#put(`/api/v1/files/${fileId}/stream/${trackId}/${number}`, content);
  }

  /** Ends a stream; `tracks` has the number of fragments of each. */
  seal(
    fileId: string,
    body: JsonBody<"/api/v1/files/{file_id}/stream/seal">,
  ): Promise<ResultOf<"post", "/api/v1/files/{file_id}/stream/seal">> {
    const path = { file_id: fileId };
    return this.connection.request("post", "/api/v1/files/{file_id}/stream/seal", { path, body });
  }

  /** Returns a part of a stream as MP4, also while it arrives. */
  download(
    fileId: string,
    query: { to_ms: number; from_ms?: number; track_id?: number },
  ): Promise<Response> {
    return this.media(withQuery(`/api/v1/files/${fileId}/stream/media.mp4`, query));
  }

  async #put(address: string, content: Blob): Promise<void> {
    const digest = await crypto.subtle.digest("SHA-256", await content.arrayBuffer());
    const text = btoa(String.fromCharCode(...new Uint8Array(digest)));
    // The digest makes retries safe.
    const headers = { "Content-Digest": `sha-256=:${text}:` };
    await this.connection.retried(address, { method: "PUT", headers, body: content });
  }
}
