/**
 * Asks the host for sound samples.
 *
 * GET /__framekiln/peaks?src=<url-encoded URL>|fileId=<id>&ms=<decimal>&window=<n>
 *   ms      source time in milliseconds, at most five decimals, never negative
 *   window  how many samples, 1 to 262144
 * -> 200, application/octet-stream, window * 4 bytes: little-endian float32, one channel (the mean
 *    of all channels) at 48 kHz, full scale 1.0, no gain applied. The last sample is the one just
 *    before `ms`: sample j is at ms - (window - j) / 48. Silence (0) before the beginning and after
 *    the end of the source, and for a source without sound.
 * -> 4xx, JSON {error, message}: the samples cannot be had; `message` goes to the author.
 *
 * Asked for synchronously, once a frame, because a frame is drawn as soon as its scripts end.
 */

import { sourceParams, type MediaSource } from "../host.ts";

const HOST = "http://127.0.0.1";
// A page may put its own in their place later.
const NativeRequest = typeof XMLHttpRequest === "function" ? XMLHttpRequest : null;

export class SamplesMissing extends Error {}

export function samplesUrl(source: MediaSource, atMs: number, window: number): string {
  const ms = String(Number(Math.max(0, atMs).toFixed(5)));
  const query = new URLSearchParams({ ...sourceParams(source), ms, window: String(window) });
  return `${HOST}/__framekiln/peaks?${query}`;
}

export function fetchSamples(source: MediaSource, atMs: number, window: number): Float32Array {
  if (NativeRequest === null) throw new SamplesMissing("there is no XMLHttpRequest");
  const request = new NativeRequest();
  request.open("GET", samplesUrl(source, atMs, window), false);
  // Synchronous requests give text only; in this charset every character is one byte.
  request.overrideMimeType("text/plain; charset=x-user-defined");
  request.send();
  if (request.status !== 200) throw new SamplesMissing(messageFrom(request.responseText));
  return decodeSamples(request.responseText, window);
}

/** Bytes as characters (code & 255) into floats; short answers are filled up with silence. */
export function decodeSamples(text: string, window: number): Float32Array {
  const bytes = new DataView(new ArrayBuffer(window * 4));
  const missing = Math.max(0, bytes.byteLength - (text.length & ~3));
  for (let i = missing; i < bytes.byteLength; i += 1) {
    bytes.setUint8(i, text.charCodeAt(i - missing) & 0xff);
  }
  return Float32Array.from({ length: window }, (_, i) => bytes.getFloat32(i * 4, true));
}

function messageFrom(body: string): string {
  try {
    const answer = JSON.parse(body) as { message?: unknown };
    if (typeof answer.message === "string") return answer.message;
  } catch {
    // No answer of the host's own: the generic sentence below is all there is to say.
  }
  return "its sound samples could not be read";
}
