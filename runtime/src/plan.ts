/** What the renderer must know before frame 0: size, rate, length, sounds and pictures. */

import { dependsOnFramesBefore } from "./dependent_frames.ts";
import { describePage } from "./describe.ts";
import { MediaElement } from "./elements/media.ts";
import { missingTargets } from "./elements/target.ts";
import { timeTree, type TimedElement } from "./elements/timed.ts";
import { TimegroupElement } from "./elements/timegroup.ts";
import type { MediaSource, PlayedInfo } from "./host.ts";
import type { NativeClip } from "./native_clip.ts";
import type { NativeMedia } from "./native_media.ts";
import { sizeRoot } from "./root_box.ts";
import { selectorOf } from "./selector.ts";
import type { SourcePeriod } from "./source_history.ts";
import type { GainPoint } from "./timing/gain_curve.ts";
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
  /** Times `gain`, at instants of the film; between two it is a straight line. Empty: always 1. */
  readonly gains: readonly GainPoint[];
  /** Source time for each unit of the film's time. */
  readonly rate: number;
  /** Whether another speed leaves the pitch as it is. */
  readonly keepsPitch: boolean;
  readonly hasPicture: boolean;
}

/** The codes are those of `engine/film_plan.py`. */
export interface PlanWarning {
  readonly code: "size_unknown" | "unknown_target" | "no_duration" | "render_info";
  readonly text: string;
}

export interface Plan {
  readonly kind: "composition" | "page";
  readonly widthPx: number | null;
  readonly heightPx: number | null;
  readonly fps: number | null;
  readonly durationMs: number | null;
  readonly media: readonly PlannedMedia[];
  readonly isDeclarative: boolean;
  readonly warnings: readonly PlanWarning[];
  /** Whether the page mixes its sound itself, and delivers it with the last frame. */
  readonly mixesSound?: boolean;
}

interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

const SILENCE: { gain: number; gains: readonly GainPoint[] } = { gain: 0, gains: [] };
const UNCHANGED = { rate: 1, keepsPitch: true };

export function makePlan(natives: NativeMedia | null, isScripted: boolean): Plan {
  const sizeWarning = sizeRoot();
  const root = timeTree.all().find(({ element }) => element instanceof TimegroupElement) ?? null;
  const facts = root === null ? pageFacts(natives) : compositionFacts(root);
  const endMs = facts.durationMs ?? Number.POSITIVE_INFINITY;
  return {
    kind: root === null ? "page" : "composition",
    ...facts,
    media: plannedMedia(natives, endMs),
    isDeclarative: !isScripted && natives?.isScripted !== true && !dependsOnFramesBefore(),
    warnings: [
      ...(sizeWarning === "" ? [] : [{ code: "size_unknown" as const, text: sizeWarning }]),
      ...missingTargets().map((text) => ({ code: "unknown_target" as const, text })),
      ...timeTree.allWarnings().map(({ element, message }) => ({
        code: "no_duration" as const,
        text: `${selectorOf(element)} ${message}`,
      })),
    ],
  };
}

/** What was played until now, and will be until the film ends if no script changes it. */
export function plannedMedia(natives: NativeMedia | null, filmEndMs: number): PlannedMedia[] {
  return [...elementMedia(filmEndMs), ...nativeMedia(natives, filmEndMs)];
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
export function windowOf(place: Place<TimedElement>, filmEndMs: number): Window {
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
      ...(isPinned || !info.hasAudio
        ? SILENCE
        : element.gains.between(window.startMs, window.endMs)),
      ...UNCHANGED,
      hasPicture: element.mediaKind === "video" && info.hasVideo,
    };
  });
}

/** What plain `<video>` and `<audio>` play. */
export function nativeMedia(natives: NativeMedia | null, filmEndMs: number): PlannedMedia[] {
  return (natives?.all() ?? []).flatMap((clip) => {
    const { routedMs } = clip;
    const played = playedOf(clip, filmEndMs);
    if (routedMs === null) return played;
    // From then on scripts have its sound.
    return played.map((entry) =>
      entry.startMs < routedMs
        ? { ...entry, endMs: Math.min(entry.endMs, routedMs) }
        : { ...entry, ...SILENCE },
    );
  });
}

/** What a clip plays until an instant of the film. */
export function playedOf(clip: NativeClip, untilMs: number): PlannedMedia[] {
  const place = timeTree.nearest(clip.element);
  const window = place === null ? { startMs: 0, endMs: untilMs } : windowOf(place, untilMs);
  return clipMedia(clip, window, place?.span.startMs ?? 0);
}

/** One entry for each stretch that a clip is played; one without sound for a clip that never is. */
function clipMedia(clip: NativeClip, window: Window, zeroMs: number): PlannedMedia[] {
  if (!isOpen(window)) return [];
  const periods = clip.periods(window.endMs - zeroMs);
  const played = periods.flatMap((period) => periodMedia(clip, period, window, zeroMs));
  const { info, source } = clip;
  if (played.length > 0 || source === null || info === null || info.durationMs <= 0) return played;
  const sourceInMs = clip.positionMs ?? 0;
  return [{ ...factsOf(clip, source, info), ...window, sourceInMs, ...UNCHANGED, ...SILENCE }];
}

/** What a clip plays of one of its sources. */
function periodMedia(
  clip: NativeClip,
  { source, info, pieces, fromMs, untilMs }: SourcePeriod,
  window: Window,
  zeroMs: number,
): PlannedMedia[] {
  if (info.durationMs <= 0) return [];
  return pieces.flatMap(({ startMs, endMs, ...piece }) => {
    const part = {
      startMs: Math.max(zeroMs + startMs, window.startMs, fromMs),
      endMs: Math.min(zeroMs + endMs, window.endMs, untilMs),
    };
    if (!isOpen(part)) return [];
    const sourceInMs = piece.sourceInMs + (part.startMs - zeroMs - startMs) * piece.rate;
    const loudness = info.hasAudio ? clip.gains.between(part.startMs, part.endMs) : SILENCE;
    return { ...factsOf(clip, source, info), ...piece, ...part, sourceInMs, ...loudness };
  });
}

function factsOf(clip: NativeClip, source: MediaSource, info: PlayedInfo) {
  return {
    element: selectorOf(clip.element),
    kind: clip.kind,
    ...source,
    sourceOutMs: info.durationMs,
    hasPicture: clip.kind === "video" && info.hasVideo,
  };
}

function isOpen(window: Window): boolean {
  return window.endMs > window.startMs;
}
