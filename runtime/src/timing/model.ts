/**
 * The time model: from a tree of lengths to the start and end of every node.
 *
 * Works on plain objects. A node's length is its own (written, or that of its content) or, when it
 * has none, its parent's; so lengths of parents are found first from the children that have one.
 */

export type Mode = "fixed" | "sequence" | "contain" | "fit";

export interface TimeNode {
  readonly isGroup: boolean;
  /** Media plays a source: a written duration cuts or holds it instead of replacing its window. */
  readonly isMedia: boolean;
  readonly mode: Mode | null;
  readonly durationMs: number | null;
  /** The length of the content: of the media file, the captions, the text. */
  readonly intrinsicMs: number | null;
  readonly offsetMs: number;
  readonly overlapMs: number;
  readonly sourceInMs: number | null;
  readonly sourceOutMs: number | null;
  readonly trimStartMs: number | null;
  readonly trimEndMs: number | null;
  /** On a child, steps its own clock; on a root it is the rate of the film. */
  readonly fps: number | null;
  /** Whether its length, if it has one, counts for its parent's. */
  readonly participates: boolean;
  /** Whether it is still seen at the very instant of its end. */
  readonly isVisibleAtEnd: boolean;
  readonly children: readonly TimeNode[];
}

export interface Span {
  readonly startMs: number;
  readonly endMs: number;
  readonly lengthMs: number;
  /** The part of the source that is played; outMs is null when the source's length is unknown. */
  readonly sourceInMs: number;
  readonly sourceOutMs: number | null;
}

export interface Layout {
  readonly spans: ReadonlyMap<TimeNode, Span>;
  readonly warnings: ReadonlyArray<{ readonly node: TimeNode; readonly message: string }>;
}

/** Instants nearer to each other than this are the same: sums of fractions are never exact. */
const SAME_MS = 1e-6;

/** The mode that counts: a group with a duration and no mode is a fixed scene. */
export function modeOf(node: TimeNode): Mode {
  return node.mode ?? (node.durationMs === null ? "contain" : "fixed");
}

/** The part of the source that is played. Trims win over source-in and source-out. */
export function sourceWindow(node: TimeNode): { inMs: number; outMs: number | null } {
  const isTrimmed = node.trimStartMs !== null || node.trimEndMs !== null;
  const inMs = Math.max(0, (isTrimmed ? node.trimStartMs : node.sourceInMs) ?? 0);
  const wholeMs = node.intrinsicMs;
  if (isTrimmed) {
    return {
      inMs,
      outMs: wholeMs === null ? null : notBefore(wholeMs - (node.trimEndMs ?? 0), inMs),
    };
  }
  const wantedMs = node.sourceOutMs ?? wholeMs;
  if (wantedMs === null) return { inMs, outMs: null };
  return { inMs, outMs: notBefore(Math.min(wantedMs, wholeMs ?? wantedMs), inMs) };
}

/** The length a node has whatever its parent is; null when it takes its parent's. */
export function ownLengthMs(node: TimeNode): number | null {
  return node.isGroup ? groupLengthMs(node) : contentLengthMs(node);
}

function groupLengthMs(node: TimeNode): number | null {
  const mode = modeOf(node);
  if (mode === "fit") return null;
  if (mode === "fixed") return node.durationMs === null ? null : Math.max(0, node.durationMs);
  const lengths = lengthsIn(node);
  if (mode === "contain") return Math.max(0, ...lengths);
  return Math.max(0, sumOf(lengths) - node.overlapMs * Math.max(0, lengths.length - 1));
}

function lengthsIn(group: TimeNode): number[] {
  return group.children.map(participatingMs).filter((length) => length !== null);
}

function sumOf(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + length, 0);
}

function contentLengthMs(node: TimeNode): number | null {
  if (node.mode === "fit") return null;
  if (node.isMedia && node.durationMs !== null) return Math.max(0, node.durationMs);
  const whole = { ...node, intrinsicMs: node.durationMs ?? node.intrinsicMs };
  const { inMs, outMs } = sourceWindow(whole);
  return outMs === null ? null : outMs - inMs;
}

function participatingMs(node: TimeNode): number | null {
  return node.participates ? ownLengthMs(node) : null;
}

/** Start and end of every node below `root`, which starts at zero. */
export function layOut(root: TimeNode): Layout {
  const spans = new Map<TimeNode, Span>();
  const warnings: { node: TimeNode; message: string }[] = [];
  const place = (node: TimeNode, startMs: number, lengthMs: number): void => {
    const { inMs, outMs } = sourceWindow(node);
    const span = { startMs, endMs: startMs + lengthMs, lengthMs };
    spans.set(node, { ...span, sourceInMs: inMs, sourceOutMs: outMs });
    if (playsNothing(node)) warnings.push({ node, message: nothingLeft(node) });
    if (overlapsAll(node)) warnings.push({ node, message: overlapTooLong(node) });
    if (node.isGroup && modeOf(node) === "sequence") placeInSequence(node, span);
    else placeTogether(node, span);
  };
  const placeTogether = (parent: TimeNode, at: { startMs: number; lengthMs: number }): void => {
    for (const child of parent.children) {
      place(child, at.startMs + child.offsetMs, ownLengthMs(child) ?? at.lengthMs);
    }
  };
  const placeInSequence = (parent: TimeNode, at: { startMs: number; lengthMs: number }): void => {
    let nextMs = at.startMs;
    for (const child of parent.children) {
      const lengthMs = ownLengthMs(child);
      // What fits its parent lies under the whole sequence and takes no turn in it.
      if (takesParentsLength(child)) {
        place(child, at.startMs, at.lengthMs);
        continue;
      }
      if (!lengthMs && !playsNothing(child)) warnings.push({ node: child, message: NO_LENGTH });
      place(child, nextMs, lengthMs ?? 0);
      const counts = child.participates && lengthMs !== null;
      if (counts) nextMs = Math.max(at.startMs, nextMs + lengthMs - parent.overlapMs);
    }
  };
  place(root, 0, ownLengthMs(root) ?? 0);
  return { spans, warnings };
}

/** Whether its trims, or the times of its source, leave nothing of a source that has a length. */
function playsNothing(node: TimeNode): boolean {
  const { inMs, outMs } = sourceWindow(node);
  return node.isMedia && (node.intrinsicMs ?? 0) > 0 && outMs === inMs;
}

function nothingLeft({ intrinsicMs }: TimeNode): string {
  const sourceMs = Math.round(intrinsicMs ?? 0);
  return (
    `plays nothing of its source, which lasts ${sourceMs} ms:` +
    " change its trims, or the source times at which it begins and ends"
  );
}

/** Whether a sequence has no length, although its scenes have. */
function overlapsAll(node: TimeNode): boolean {
  const isSequence = node.isGroup && modeOf(node) === "sequence";
  return isSequence && groupLengthMs(node) === 0 && Math.max(0, ...lengthsIn(node)) > 0;
}

function overlapTooLong(node: TimeNode): string {
  const lengths = lengthsIn(node);
  return (
    `has an overlap of ${Math.round(node.overlapMs)} ms, which leaves nothing of its` +
    ` ${lengths.length} scenes, of ${Math.round(sumOf(lengths))} ms in all: make it shorter`
  );
}

const NO_LENGTH =
  "has no length of its own, so it takes no time in the sequence; give it a duration";

function takesParentsLength(node: TimeNode): boolean {
  return node.mode === "fit";
}

export interface Moment {
  readonly nowMs: number;
  readonly rootEndMs: number;
}

/** Whether a node shows at that moment, its ancestors aside. */
export function isVisibleAt(node: TimeNode, span: Span, moment: Moment): boolean {
  if (span.lengthMs <= 0) return true;
  if (moment.nowMs < span.startMs - SAME_MS) return false;
  if (moment.nowMs < span.endMs - SAME_MS) return true;
  const staysAtEnd = node.isVisibleAtEnd || Math.abs(span.endMs - moment.rootEndMs) <= SAME_MS;
  return staysAtEnd && moment.nowMs <= span.endMs + SAME_MS;
}

/** The node's own clock. What has no length is always seen, so its clock just runs on. */
export function ownTimeMs(span: Span, nowMs: number): number {
  const sinceMs = Math.max(0, nowMs - span.startMs);
  return span.lengthMs > 0 ? Math.min(sinceMs, span.lengthMs) : sinceMs;
}

/** The own clock of a nested group with a rate of its own: it moves in steps. */
export function steppedMs(ownMs: number, fps: number | null): number {
  if (fps === null || !(fps > 0)) return ownMs;
  return (Math.floor((ownMs + SAME_MS) * (fps / 1000)) * 1000) / fps;
}

/** The source time shown at `ownMs`: after the end of its window the last picture is held. */
export function sourceTimeMs(span: Span, ownMs: number): number {
  const sourceMs = span.sourceInMs + ownMs;
  if (span.sourceOutMs === null) return sourceMs;
  return Math.max(span.sourceInMs, Math.min(sourceMs, span.sourceOutMs - LAST_PICTURE_MS));
}

/** So much before its end a source surely shows its last picture, however its times are rounded. */
export const LAST_PICTURE_MS = 1;

function notBefore(ms: number, earliestMs: number): number {
  return Math.max(ms, earliestMs);
}
