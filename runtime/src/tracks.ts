/** The tracks of a composition, for a timeline: what is in it, when, and how deep in groups. */

import { MediaElement } from "./elements/media.ts";
import { timeTree, type TimedElement } from "./elements/timed.ts";
import type { NativeMedia } from "./native_media.ts";
import { nativeMedia, windowOf } from "./plan.ts";
import { selectorOf } from "./selector.ts";
import type { Place } from "./timing/tree.ts";

export interface Track {
  readonly kind: "group" | "clip" | "text" | "sound";
  readonly name: string;
  readonly depth: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly selector: string;
}

const MAX_TRACKS = 1000;
const MAX_NAME_CHARS = 80;
const TEXTS: ReadonlySet<string> = new Set(["ef-text", "ef-captions"]);
/** Parts of other elements, which are tracks already. */
const PARTS: ReadonlySet<string> = new Set([
  "ef-text-segment",
  "ef-captions-active-word",
  "ef-captions-before-active-word",
  "ef-captions-after-active-word",
  "ef-captions-segment",
]);

export function findTracks(natives: NativeMedia, filmMs: number): Track[] {
  const timed = timeTree
    .all()
    .filter(({ element }) => !PARTS.has(element.localName))
    .slice(0, MAX_TRACKS)
    .map((place) => ({
      kind: kindOf(place.element),
      name: nameOf(place.element),
      depth: depthOf(place),
      ...windowOf(place, filmMs),
      selector: selectorOf(place.element),
    }));
  const tracks = [...timed, ...nativeTracks(natives, filmMs)];
  return tracks.filter(({ startMs, endMs }) => endMs > startMs).slice(0, MAX_TRACKS);
}

/** One track for each `<video>` and `<audio>`, from its first sound or picture to its last. */
function nativeTracks(natives: NativeMedia, filmMs: number): Track[] {
  const found = new Map<string, Track>();
  for (const { element, kind, src, startMs, endMs } of nativeMedia(natives, filmMs)) {
    const before = found.get(element);
    found.set(element, {
      kind: kind === "audio" ? "sound" : "clip",
      name: fileNameOf(src ?? "") || element,
      depth: 0,
      startMs: Math.min(startMs, before?.startMs ?? startMs),
      endMs: Math.max(endMs, before?.endMs ?? endMs),
      selector: element,
    });
  }
  return [...found.values()];
}

function kindOf(element: TimedElement): Track["kind"] {
  if (element.isGroup) return "group";
  if (TEXTS.has(element.localName)) return "text";
  return element instanceof MediaElement && element.mediaKind === "audio" ? "sound" : "clip";
}

function nameOf(element: TimedElement): string {
  if (element.id !== "") return element.id;
  if (TEXTS.has(element.localName)) {
    const text = (element.textContent ?? "").replace(/\s+/g, " ").trim();
    if (text !== "") return text.slice(0, MAX_NAME_CHARS);
  }
  return fileNameOf(element.getAttribute("src") ?? "") || element.localName;
}

function fileNameOf(src: string): string {
  if (src.startsWith("data:") || src.startsWith("blob:")) return "";
  const path = src.split(/[?#]/, 1)[0] ?? "";
  return path.slice(path.lastIndexOf("/") + 1).slice(0, MAX_NAME_CHARS);
}

function depthOf(place: Place<TimedElement>): number {
  let depth = 0;
  for (let at = place.parent; at !== null; at = at.parent) depth += 1;
  return depth;
}
