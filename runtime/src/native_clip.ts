/** One native <video> or <audio>: its source, its facts, and where in the source it stands. */

import { readSource, type Reading } from "./elements/source.ts";
import { keyOf, mediaInfo, type MediaInfo, type MediaSource } from "./host.ts";
import { StandIn } from "./native_stand_in.ts";
import { selectorOf } from "./selector.ts";
import { LAST_PICTURE_MS } from "./timing/model.ts";

/** What scripts wait for before they use a clip. */
const LOADED = ["durationchange", "loadedmetadata", "loadeddata", "canplay", "canplaythrough"];

export class NativeClip {
  readonly element: HTMLMediaElement;
  readonly standIn: StandIn | null;
  info: MediaInfo | null = null;
  isPlaying: boolean;
  private written = "";
  private askedFor = "";
  private refusal = "";
  /** The source stood at `baseMs` when the film stood at `sinceMs`. */
  private baseMs = 0;
  private sinceMs = 0;

  constructor(element: HTMLMediaElement) {
    this.element = element;
    this.isPlaying = element.autoplay;
    this.standIn = element instanceof HTMLVideoElement ? new StandIn(element) : null;
  }

  /** The address as written, wherever it was. */
  get src(): string {
    return this.written;
  }

  set src(written: string) {
    this.written = written;
    this.ask();
  }

  /** Begin with the source that is written now, unless it is the same as before. */
  ask(): void {
    this.baseMs = 0;
    const { source } = this.reading();
    const key = source === null ? "" : keyOf(source);
    if (key === this.askedFor) return;
    this.askedFor = key;
    this.info = null;
    this.refusal = "";
    if (source !== null) void this.learn(source, key);
  }

  get source(): MediaSource | null {
    return this.reading().source;
  }

  get kind(): "video" | "audio" {
    return this.standIn === null ? "audio" : "video";
  }

  get gain(): number {
    return this.element.muted ? 0 : this.element.volume;
  }

  pending(): string[] {
    const isWaiting = this.source !== null && this.info === null && this.refusal === "";
    return isWaiting ? [`media of ${selectorOf(this.element)}`] : [];
  }

  failure(): string {
    // One that is in no document shows nothing and sounds nowhere.
    if (!this.element.isConnected) return "";
    const problem = this.reading().problem || this.refusal;
    return problem === "" ? "" : `${selectorOf(this.element)}: ${problem}`;
  }

  setPlaying(isPlaying: boolean, nowMs: number): void {
    this.baseMs = this.freeMs(nowMs);
    this.sinceMs = nowMs;
    this.isPlaying = isPlaying;
  }

  seek(sourceMs: number, nowMs: number): void {
    this.baseMs = Math.max(0, sourceMs);
    this.sinceMs = nowMs;
  }

  /** Where it stands when nothing but itself times it. */
  freeMs(nowMs: number): number {
    return this.within(this.isPlaying ? this.baseMs + (nowMs - this.sinceMs) : this.baseMs);
  }

  /** A time of the source: round and round with `loop`, else held at its end. */
  within(sourceMs: number): number {
    const lengthMs = this.info?.durationMs ?? 0;
    if (lengthMs <= 0) return Math.max(0, sourceMs);
    if (this.element.loop) return sourceMs % lengthMs;
    return Math.min(sourceMs, lengthMs);
  }

  show(sourceMs: number): void {
    const { info, source } = this;
    if (this.standIn === null || source === null || !info?.hasVideo) return;
    this.standIn.place(info);
    const lastMs = Math.max(0, info.durationMs - LAST_PICTURE_MS);
    this.standIn.draw(source, info, Math.min(sourceMs, lastMs));
  }

  private reading(): Reading {
    const { element } = this;
    const fileId = element.getAttribute("file-id") ?? element.getAttribute("asset-id");
    return readSource({ src: this.written, fileId });
  }

  private async learn(source: MediaSource, key: string): Promise<void> {
    try {
      const info = await mediaInfo(source);
      if (key !== this.askedFor) return;
      this.info = info;
      this.standIn?.place(info);
      for (const name of LOADED) this.element.dispatchEvent(new Event(name));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const said = source.fileId === null ? `src="${source.src}"` : `file-id="${source.fileId}"`;
      if (key === this.askedFor) this.refusal = `${said}: ${reason}`;
    }
  }
}
