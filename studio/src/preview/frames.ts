/** Frames of one version: fetched by number, kept encoded, decoded when they are shown. */

import { signal } from "@preact/signals";
import { messageOf, type Composition } from "./model.ts";

const MAX_BYTES = 192 * 1024 * 1024;
const MAX_DECODED = 24;
const MAX_REQUESTS = 3;

export class Frames {
  readonly version: string;
  readonly count: number;
  /** 1 for each frame that is here or with the server. */
  readonly cached: Uint8Array;
  /** Rises when `cached` changes. */
  readonly changes = signal(0);
  /** Why a frame could not be made. */
  readonly problem = signal<string | null>(null);

  private readonly encoded = new Map<number, Blob>();
  private readonly decoded = new Map<number, ImageBitmap>();
  private readonly decoding = new Map<number, Promise<ImageBitmap | null>>();
  private readonly requests = new Map<number, AbortController>();
  private wanted: number[] = [];
  private bytes = 0;
  private isClosed = false;
  private waiting: (() => void)[] = [];

  constructor({ version, frame_count, cached }: Composition) {
    this.version = version;
    this.count = frame_count;
    this.cached = new Uint8Array(frame_count);
    for (const [first, last] of cached) this.cached.fill(1, first, last + 1);
  }

  has(frame: number): boolean {
    return this.encoded.has(frame);
  }

  /** The picture of a frame that is decoded already. */
  decodedPicture(frame: number): ImageBitmap | null {
    return this.decoded.get(frame) ?? null;
  }

  /** The picture of a frame that is here; the last ones shown stay decoded. */
  async picture(frame: number): Promise<ImageBitmap | null> {
    const known = this.decoded.get(frame);
    if (known !== undefined) return known;
    const blob = this.encoded.get(frame);
    if (blob === undefined) return null;
    const begun = this.decoding.get(frame) ?? this.decode(frame, blob);
    this.decoding.set(frame, begun);
    return begun;
  }

  /** Asks for these frames, the first ones first, and for no others. */
  want(frames: number[]): void {
    this.wanted = frames.filter((frame) => !this.encoded.has(frame));
    const wanted = new Set(this.wanted);
    for (const [frame, request] of this.requests) if (!wanted.has(frame)) request.abort();
    this.fetchNext();
  }

  /** Resolves when another frame has come, or none comes any more. */
  async change(): Promise<void> {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  close(): void {
    this.isClosed = true;
    this.want([]);
    for (const bitmap of this.decoded.values()) bitmap.close();
    this.decoded.clear();
    this.encoded.clear();
    this.notify();
  }

  private fetchNext(): void {
    for (const frame of this.wanted) {
      if (this.requests.size >= MAX_REQUESTS || this.isClosed) return;
      if (!this.requests.has(frame) && !this.encoded.has(frame)) void this.fetch(frame);
    }
  }

  private async fetch(frame: number): Promise<void> {
    const request = new AbortController();
    this.requests.set(frame, request);
    try {
      const response = await fetch(`/frames/${this.version}/${frame}`, { signal: request.signal });
      if (response.ok) this.keep(frame, await response.blob());
      // Another version has come; its event is on the way.
      else if (response.status !== 404) this.fail(await messageOf(response));
      else this.wanted = [];
    } catch (error) {
      if (!request.signal.aborted) this.fail(`the preview does not answer: ${String(error)}`);
    } finally {
      this.requests.delete(frame);
      this.notify();
      if (this.problem.value === null) this.fetchNext();
    }
  }

  private async decode(frame: number, blob: Blob): Promise<ImageBitmap | null> {
    const bitmap = await createImageBitmap(blob).catch(() => null);
    this.decoding.delete(frame);
    if (bitmap === null) this.fail(`frame ${frame} came damaged`);
    if (this.isClosed) bitmap?.close();
    if (bitmap === null || this.isClosed) return null;
    this.decoded.set(frame, bitmap);
    for (const [old, oldBitmap] of this.decoded) {
      if (this.decoded.size <= MAX_DECODED) break;
      if (old === frame) continue;
      this.decoded.delete(old);
      oldBitmap.close();
    }
    return bitmap;
  }

  private fail(message: string): void {
    this.wanted = [];
    if (!this.isClosed) this.problem.value = message;
  }

  private keep(frame: number, blob: Blob): void {
    if (this.isClosed) return;
    this.problem.value = null;
    this.encoded.set(frame, blob);
    this.bytes += blob.size;
    for (const [old, oldBlob] of this.encoded) {
      if (this.bytes <= MAX_BYTES) break;
      this.encoded.delete(old);
      this.bytes -= oldBlob.size;
      this.cached[old] = 0;
    }
    this.cached[frame] = 1;
    this.changes.value += 1;
  }

  private notify(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
