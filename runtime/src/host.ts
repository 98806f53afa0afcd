/**
 * Talking to the renderer: media facts, decoded frames, captions. Without one (a tab in which a
 * person previews) nothing here may be called but `isHosted`.
 *
 * What the page's own scripts may replace (fetch, XMLHttpRequest) is kept as it was at the start.
 */

import type { FrameBuffer } from "./frame_buffer.ts";

export interface HostConfig {
  readonly epochMs: number;
  readonly seed: number;
  /** Whether files lie beside the page (a bundle), so that relative addresses mean something. */
  readonly hasFiles?: boolean;
  /** False for a page that brings elements of its own. */
  readonly definesElements?: boolean;
  /** Whether such a page must say size, rate and length itself. */
  readonly asksInfo?: boolean;
}

export interface MediaSource {
  readonly src: string | null;
  readonly fileId: string | null;
}

export interface MediaInfo {
  /** Null for a still picture. */
  readonly durationMs: number | null;
  readonly widthPx: number | null;
  readonly heightPx: number | null;
  readonly hasVideo: boolean;
  readonly hasAudio: boolean;
}

/** Of a source that can be played. */
export interface PlayedInfo extends MediaInfo {
  readonly durationMs: number;
}

export interface FrameRequest {
  readonly source: MediaSource;
  readonly sourceMs: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

/** Any origin would do: requests are answered by path. A base address of the page must not matter. */
const HOST = "http://127.0.0.1";

let config: HostConfig | null = null;
const infos = new Map<string, Promise<MediaInfo>>();
const nativeFetch = typeof fetch === "function" ? fetch.bind(globalThis) : null;
const NativeRequest = typeof XMLHttpRequest === "function" ? XMLHttpRequest : null;

/** Called once, before anything else, when a renderer drives the page. */
export function useHost(given: HostConfig): void {
  config = given;
}

export function isHosted(): boolean {
  return config !== null;
}

export function hasFilesBeside(): boolean {
  return config === null || config.hasFiles === true;
}

export function keyOf(source: MediaSource): string {
  return source.fileId === null ? `src:${source.src}` : `file:${source.fileId}`;
}

/** The address of a stored file; only images are taken from it directly. */
export function fileUrl(fileId: string): string {
  const origin = isHosted() ? HOST : location.origin;
  return `${origin}/api/v1/files/${encodeURIComponent(fileId)}`;
}

export function sourceParams(source: MediaSource): Record<string, string> {
  return source.fileId === null ? { src: source.src ?? "" } : { fileId: source.fileId };
}

/** Ask the renderer; rejects with its own words when it refuses. */
export async function askHost(name: string, params: Record<string, string>): Promise<unknown> {
  if (nativeFetch === null) throw new Error("there is no fetch");
  const answer = await nativeFetch(addressOf(name, params));
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok) throw new Error(messageIn(body) ?? `the renderer answered ${answer.status}`);
  return body;
}

/** What is known of a media file; asked for once for each file. */
export function mediaInfo(source: MediaSource): Promise<MediaInfo> {
  const key = keyOf(source);
  const known = infos.get(key);
  if (known !== undefined) return known;
  const asked = askHost("media", sourceParams(source)) as Promise<MediaInfo>;
  infos.set(key, asked);
  return asked;
}

/** The same of what is played; refuses what is only looked at. */
export async function playedInfo(source: MediaSource): Promise<PlayedInfo> {
  const info = await mediaInfo(source);
  const { durationMs } = info;
  if (durationMs === null) throw new Error("it is a still picture: show it with <img> or ef-image");
  return { ...info, durationMs };
}

/**
 * One decoded picture, now, into `buffer`: a frame of the film waits for it. Returns when in the
 * source it appears.
 */
export function fetchFrame(request: FrameRequest, buffer: FrameBuffer): number {
  const exchange = fetchPixels(
    "frame",
    {
      ...sourceParams(request.source),
      ms: decimal(request.sourceMs),
      width: `${request.widthPx}`,
      height: `${request.heightPx}`,
    },
    buffer,
  );
  const shown = exchange.getResponseHeader("X-Picture-Ms");
  return shown === null ? request.sourceMs : Number(shown);
}

/** Pixels that the renderer has, now, into `buffer`. */
export function fetchPixels(
  name: string,
  params: Record<string, string>,
  buffer: FrameBuffer,
): XMLHttpRequest {
  const marked = buffer.mark === null ? params : { ...params, buffer: buffer.mark };
  const exchange = askNow(name, marked);
  if (exchange.status === 204) return exchange;
  const text = exchange.responseText;
  if (text.length !== buffer.bytes.length) {
    throw new Error(`${buffer.bytes.length} bytes of a picture came as ${text.length}`);
  }
  buffer.bytes.set(bytesOf(text));
  return exchange;
}

/** Decoded sound at 48 kHz, now: both channels in turn. */
export function fetchSound(source: MediaSource, first: number, count: number): Float32Array {
  const params = { ...sourceParams(source), first: `${first}`, count: `${count}` };
  return new Float32Array(bytesOf(askNow("sound", params).responseText).buffer);
}

/** Ask the renderer and wait for its answer; throws its own words when it refuses. */
export function askNow(name: string, params: Record<string, string>): XMLHttpRequest {
  if (NativeRequest === null) throw new Error("there is no XMLHttpRequest");
  const exchange = new NativeRequest();
  exchange.open("GET", addressOf(name, params), false);
  // The one way to get bytes synchronously in a document: each character carries one.
  exchange.overrideMimeType("text/plain; charset=x-user-defined");
  exchange.send();
  if (exchange.status !== 200 && exchange.status !== 204) {
    throw new Error(refusalOf(exchange.status, bytesOf(exchange.responseText)));
  }
  return exchange;
}

function bytesOf(text: string): Uint8ClampedArray<ArrayBuffer> {
  const bytes = new Uint8ClampedArray(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i) & 0xff;
  return bytes;
}

function addressOf(name: string, params: Record<string, string>): string {
  return `${HOST}/__framekiln/${name}?${new URLSearchParams(params)}`;
}

/** At most five decimals, never an exponent. */
function decimal(ms: number): string {
  return String(Number(ms.toFixed(5)));
}

function refusalOf(status: number, body: Uint8ClampedArray<ArrayBuffer>): string {
  const text = new TextDecoder().decode(body);
  try {
    return messageIn(JSON.parse(text)) ?? `the renderer answered ${status}`;
  } catch {
    return `the renderer answered ${status}`;
  }
}

function messageIn(body: unknown): string | null {
  if (typeof body !== "object" || body === null) return null;
  const { message, error } = body as { message?: unknown; error?: unknown };
  const reason = message ?? error;
  return typeof reason === "string" ? reason : null;
}
