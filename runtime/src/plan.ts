/** What the renderer must know before frame 0: size, rate, length, sounds and pictures. */

import { describePage } from "./describe.ts";
import { MediaElement } from "./elements/media.ts";
import { timeTree, type TimedElement } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";
import type { NativeClip } from "./native_clip.ts";
import type { NativeMedia } from "./native_media.ts";
import { sizeRoot } from "./root_box.ts";
import { selectorOf } from "./selector.ts";
import type { Place } from "./timing/tree.ts";

export interface PlannedMedia {
  readonly element: string;
  readonly kind: "video" | "audio";
  readonly src: string | null;
  readonly fileId: string | null;
  readonly startMs: number;
  readonly endMs: number;
  /** Source time at startMs. */
  readonly sourceInMs: number;
  /** Where the source is over: from there on its picture is held and its sound is silent. */
  readonly sourceOutMs: number | null;
  readonly gain: number;
  readonly hasPicture: boolean;
}

export interface Plan {
  readonly kind: "composition" | "page";
  readonly widthPx: number | null;
  readonly heightPx: number | null;
  readonly fps: number | null;
  readonly durationMs: number | null;
  readonly media: readonly PlannedMedia[];
  readonly isDeclarative: boolean;
  readonly warnings: readonly string[];
  /** Whether the page mixes its sound itself, and delivers it with the last frame. */
  readonly mixesSound?: boolean;
}

interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

export function makePlan(natives: NativeMedia | null, isScripted: boolean): Plan {
  const sizeWarning = sizeRoot();
  const root = timeTree.all().find(({ element }) => element instanceof TimegroupElement) ?? null;
  const facts = root === null ? pageFacts(natives) : compositionFacts(root);
  const endMs = facts.durationMs ?? Number.POSITIVE_INFINITY;
  return {
    kind: root === null ? "page" : "composition",
    ...facts,
    media: [...elementMedia(endMs), ...nativeMedia(natives, endMs)],
    isDeclarative: !isScripted && !drawsByScript(),
    warnings: [
      ...(sizeWarning === "" ? [] : [sizeWarning]),
      ...timeTree.oddities().map(({ element, message }) => `${selectorOf(element)} ${message}`),
    ],
  };
}

function compositionFacts({ element, span, node }: Place<TimedElement>) {
  const { widthPx, heightPx } = sizeOf(element);
  return { widthPx, heightPx, fps: node.fps, durationMs: span.lengthMs > 0 ? span.lengthMs : null };
}

function sizeOf(element: HTMLElement): { widthPx: number | null; heightPx: number | null } {
  const box = element.getBoundingClientRect();
  return {
    widthPx: element.clientWidth || box.width || null,
    heightPx: element.clientHeight || box.height || null,
  };
}

/** A plain page; without any word of its own it lasts as long as what plays in it. */
function pageFacts(natives: NativeMedia | null) {
  const facts = describePage();
  const played = (natives?.present() ?? []).filter((clip) => clip.isPlaying);
  const lengths = [
    ...timeTree.all().map(({ span }) => span.endMs),
    ...played.map((clip) => clip.info?.durationMs ?? 0),
  ];
  const longestMs = Math.max(0, ...lengths);
  return { ...facts, durationMs: facts.durationMs ?? (longestMs > 0 ? longestMs : null) };
}

/** The part of the film in which an element and all around it are in their time. */
function windowOf(place: Place<TimedElement>, filmEndMs: number): Window {
  let startMs = 0;
  let endMs = filmEndMs;
  for (let at: Place<TimedElement> | null = place; at !== null; at = at.parent) {
    // What has no length is always there.
    if (at.span.lengthMs <= 0) continue;
    startMs = Math.max(startMs, at.span.startMs);
    endMs = Math.min(endMs, at.span.endMs);
  }
  return { startMs, endMs };
}

function elementMedia(filmEndMs: number): PlannedMedia[] {
  return timeTree.all().flatMap((place) => {
    const { element, span } = place;
    if (!(element instanceof MediaElement)) return [];
    const { source, info } = element;
    const window = windowOf(place, filmEndMs);
    if (source === null || info === null || !isOpen(window)) return [];
    const isPinned = element.pinnedMs !== null;
    return {
      element: selectorOf(element),
      kind: element.mediaKind,
      ...source,
      ...window,
      sourceInMs: element.pinnedMs ?? span.sourceInMs + window.startMs - span.startMs,
      sourceOutMs: isPinned ? element.pinnedMs : span.sourceOutMs,
      gain: isPinned || !info.hasAudio ? 0 : element.gain,
      hasPicture: element.mediaKind === "video" && info.hasVideo,
    };
  });
}

function nativeMedia(natives: NativeMedia | null, filmEndMs: number): PlannedMedia[] {
  return (natives?.present() ?? []).flatMap((clip) => {
    const place = timeTree.nearest(clip.element);
    const startMs = place?.span.startMs ?? 0;
    const window = place === null ? { startMs, endMs: filmEndMs } : windowOf(place, filmEndMs);
    return turnsOf(clip, { startMs, window, isHeard: place !== null || clip.isPlaying });
  });
}

interface Heard {
  readonly startMs: number;
  readonly window: Window;
  readonly isHeard: boolean;
}

/** One entry for each time that a clip is played; with `loop` it begins again and again. */
function turnsOf(clip: NativeClip, { startMs, window, isHeard }: Heard): PlannedMedia[] {
  const { info, source } = clip;
  if (source === null || info === null || info.durationMs <= 0) return [];
  const turns: PlannedMedia[] = [];
  const hasEnd = Number.isFinite(window.endMs);
  const count = clip.element.loop && hasEnd ? (window.endMs - startMs) / info.durationMs : 1;
  for (let turn = 0; turn < count; turn += 1) {
    const beginMs = startMs + turn * info.durationMs;
    const isLast = turn + 1 >= count;
    const overMs = isLast && hasEnd ? window.endMs : beginMs + info.durationMs;
    const part = {
      startMs: Math.max(beginMs, window.startMs),
      endMs: Math.min(overMs, window.endMs),
    };
    if (!isOpen(part)) continue;
    turns.push({
      element: selectorOf(clip.element),
      kind: clip.kind,
      ...source,
      ...part,
      sourceInMs: part.startMs - beginMs,
      sourceOutMs: info.durationMs,
      gain: isHeard && info.hasAudio ? clip.gain : 0,
      hasPicture: clip.kind === "video" && info.hasVideo,
    });
  }
  return turns;
}

function isOpen(window: Window): boolean {
  return window.endMs > window.startMs;
}

/** Whether anything is drawn that only the frames before can explain. */
function drawsByScript(): boolean {
  const hasTasks = timeTree
    .all()
    .some(({ element }) => element instanceof TimegroupElement && element.hasTasks);
  return hasTasks || document.querySelector("canvas:not([aria-hidden]), iframe, object") !== null;
}
