/** Transcriptions: start them, wait for them, read them. */

import type { ResultOf } from "./connection.ts";
import { followProgress } from "./progress.ts";
import { Part, withQuery } from "./part.ts";
import type { Filter, Item, JsonBody, WaitOptions } from "./part.ts";

export type Transcription = ResultOf<"get", "/api/v1/transcriptions/{transcription_id}">;
type Started = ResultOf<"post", "/api/v1/files/{file_id}/transcribe">;

const CORRECTIONS = "/api/v1/transcriptions/{transcription_id}/corrections";
const CORRECTION = "/api/v1/transcriptions/{transcription_id}/corrections/{start_ms}";

export class Transcriptions extends Part {
  /** Transcribes a track of a file, by default the first audio track. */
  create(
    fileId: string,
    body: JsonBody<"/api/v1/files/{file_id}/transcribe"> = {},
  ): Promise<Started> {
    const path = { file_id: fileId };
    return this.connection.request("post", "/api/v1/files/{file_id}/transcribe", { path, body });
  }

  get(id: string): Promise<Transcription> {
    return this.connection.request("get", "/api/v1/transcriptions/{transcription_id}", {
      path: { transcription_id: id },
    });
  }

  /** Returns the newest transcription of a file. */
  ofFile(fileId: string): Promise<ResultOf<"get", "/api/v1/files/{file_id}/transcription">> {
    const path = { file_id: fileId };
    return this.connection.request("get", "/api/v1/files/{file_id}/transcription", { path });
  }

  /** Yields transcriptions, newest first. */
  list(
    query: Filter<"/api/v1/transcriptions"> = {},
  ): AsyncGenerator<Item<"/api/v1/transcriptions">> {
    return this.items("/api/v1/transcriptions", "transcriptions", { query });
  }

  /** Returns a transcription when it is complete; throws the reason if it failed. */
  async wait(id: string, { onProgress, signal }: WaitOptions = {}): Promise<Transcription> {
    const address = `/api/v1/transcriptions/${id}/progress`;
    await followProgress(this.connection, address, onProgress, signal);
    return this.get(id);
  }

  /** Returns the text as WebVTT, SubRip or JSON. */
  async text(
    id: string,
    form: "vtt" | "srt" | "json" = "vtt",
    query: { word_times?: boolean } = {},
  ): Promise<string> {
    const address = withQuery(`/api/v1/transcriptions/${id}.${form}`, query);
    return (await this.media(address)).text();
  }

  /** Returns the words of one slice, also while others are being recognized. */
  fragment(
    id: string,
    number: number,
  ): Promise<ResultOf<"get", "/api/v1/transcriptions/{transcription_id}/fragments/{number}">> {
    return this.connection.request(
      "get",
      "/api/v1/transcriptions/{transcription_id}/fragments/{number}",
      { path: { transcription_id: id, number: String(number) } },
    );
  }

  /** Returns what people have corrected in the track, in order of time. */
  async corrections(id: string): Promise<ResultOf<"get", typeof CORRECTIONS>["corrections"]> {
    const path = { transcription_id: id };
    return (await this.connection.request("get", CORRECTIONS, { path })).corrections;
  }

  /** Replaces the words of a span; a new transcription keeps this. */
  correct(
    id: string,
    startMs: number,
    body: JsonBody<typeof CORRECTION, "put">,
  ): Promise<ResultOf<"put", typeof CORRECTION>> {
    const path = { transcription_id: id, start_ms: startMs };
    return this.connection.request("put", CORRECTION, { path, body });
  }

  /** Deletes a correction, and returns what it was. */
  deleteCorrection(id: string, startMs: number): Promise<ResultOf<"delete", typeof CORRECTION>> {
    const path = { transcription_id: id, start_ms: startMs };
    return this.connection.request("delete", CORRECTION, { path });
  }
}
