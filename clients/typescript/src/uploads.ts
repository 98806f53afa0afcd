/** Uploads in chunks, which resume at the missing byte. */

import type { Connection, ResultOf } from "./connection.ts";
import { Retry } from "./connection.ts";

export type RemoteFile = ResultOf<"get", "/api/v1/files/{file_id}">;
export type FileType = "video" | "image" | "caption";

export interface UploadOptions {
  /** The name on the service; by default that of a `File`. */
  filename?: string;
  /** By default guessed by the media type of the content, else by its name; audio is `video`. */
  type?: FileType;
  /** The id of an upload that was interrupted: it is resumed. */
  fileId?: string;
  /** Called with the number of uploaded bytes, and the total. */
  onProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Called with the id before anything is sent: store it to resume the upload later. */
  onBegun?: (fileId: string) => void;
  signal?: AbortSignal;
}

const CHUNK_BYTES = 8 * 1024 * 1024;

/** Uploads a `Blob` or `File` and returns the file. In Node, `openAsBlob` opens one. */
export async function upload(
  connection: Connection,
  content: Blob,
  options: UploadOptions = {},
): Promise<RemoteFile> {
  const fileId = options.fileId ?? (await register(connection, content, options));
  options.onBegun?.(fileId);
  await sendChunks(connection, `/api/v1/files/${fileId}/upload`, content, options);
  return connection.request("get", "/api/v1/files/{file_id}", { path: { file_id: fileId } });
}

async function register(
  connection: Connection,
  content: Blob,
  options: UploadOptions,
): Promise<string> {
  const filename = options.filename ?? ("name" in content ? String(content.name) : "upload");
  const type = options.type ?? guessType(filename, content.type);
  const made = await connection.request("post", "/api/v1/files", {
    body: { filename, type, byte_size: content.size },
    signal: options.signal,
  });
  return made.id;
}

interface UploadState {
  next_byte: number;
  complete: boolean;
}

/** Sends the missing bytes of a `Blob` to its upload URL. */
export async function sendChunks(
  connection: Connection,
  address: string,
  content: Blob,
  { onProgress, signal }: UploadOptions,
): Promise<void> {
  const retry = new Retry(connection.retryWithinMs);
  for (;;) {
    try {
      // After any error, the service knows how much it has received.
      let state = await ask(await connection.send(address, { method: "GET", signal }));
      while (!state.complete) {
        onProgress?.(state.next_byte, content.size);
        // All bytes may be uploaded but not joined: sending the last byte again triggers that.
        const start = Math.min(state.next_byte, content.size - 1);
        const end = Math.min(start + CHUNK_BYTES, content.size);
        const headers = { "Content-Range": `bytes ${start}-${end - 1}/${content.size}` };
        const body = content.slice(start, end);
        const next = await ask(
          await connection.send(address, { method: "POST", headers, body, signal }),
        );
        if (next.next_byte > state.next_byte) retry.recordProgress();
        state = next;
      }
      onProgress?.(content.size, content.size);
      return;
    } catch (error) {
      await retry.pauseAfter(error, signal);
    }
  }
}

async function ask(response: Response): Promise<UploadState> {
  return (await response.json()) as UploadState;
}

/** Guesses the type of a file. Node gives a `Blob` neither a name nor a media type. */
export function guessType(filename: string, mediaType = ""): FileType {
  const ending = /\.([^.]+)$/.exec(filename.toLowerCase())?.[1] ?? "";
  if (mediaType.startsWith("image/")) return "image";
  if (["jpg", "jpeg", "png", "gif", "webp", "svg"].includes(ending)) return "image";
  return ["vtt", "srt", "json"].includes(ending) ? "caption" : "video";
}
