/**
 * Boxes that move between keyframes. Which area a frame hides is the rule of the renderer
 * (`MovingBox` in engine/redaction.py); a test compares both.
 */

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Keyframe extends Box {
  t_ms: number;
}

/** As in the API; fields that are not known here are kept. */
export interface Annotation {
  kind: string;
  start_ms: number;
  end_ms: number;
  label?: string | null;
  text?: string | null;
  keyframes?: Keyframe[] | null;
  [more: string]: unknown;
}

/** The time of one frame. */
export interface Span {
  fromMs: number;
  untilMs: number;
}

interface Edges {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

const MAX_HOLD_MS = 50;
const MIN_MARGIN_PX = 8;
const MARGIN = 0.05;
const MIN_SIDE = 0.005;

export function hasBoxes(
  annotation: Annotation,
): annotation is Annotation & { keyframes: Keyframe[] } {
  return (annotation.keyframes?.length ?? 0) > 0;
}

/** Where the box is at an instant; before the first and after the last keyframe it stands still. */
export function boxAt(keyframes: readonly Keyframe[], ms: number): Box {
  return boxOf(edgesAt(keyframes, ms));
}

/** Whether a frame shows the annotation, which is extended by half a frame at either end. */
export function isShown(annotation: Annotation, { fromMs, untilMs }: Span): boolean {
  const holdMs = Math.min((untilMs - fromMs) / 2, MAX_HOLD_MS);
  return annotation.start_ms - holdMs < untilMs && fromMs <= annotation.end_ms + holdMs;
}

/** The smallest box around all positions in the time of a frame: what the renderer hides. */
export function hiddenArea(annotation: Annotation, span: Span): Box | null {
  if (!hasBoxes(annotation) || !isShown(annotation, span)) return null;
  const { start_ms, end_ms, keyframes } = annotation;
  const inside = (ms: number): number => Math.max(start_ms, Math.min(end_ms, ms));
  const [first, last] = [inside(span.fromMs), inside(span.untilMs)];
  let covered = union(edgesAt(keyframes, first), edgesAt(keyframes, last));
  for (const each of keyframes) {
    if (each.t_ms > first && each.t_ms < last) covered = union(covered, edgesOf(each));
  }
  return boxOf(covered);
}

/** The pixels that the renderer hides for an area: with a margin and even sides. */
export function hiddenPixels(area: Box, widthPx: number, heightPx: number): Edges {
  const { left, top, right, bottom } = edgesOf(area);
  const across = Math.max(MIN_MARGIN_PX, MARGIN * (right - left) * widthPx);
  const down = Math.max(MIN_MARGIN_PX, MARGIN * (bottom - top) * heightPx);
  const low = (value: number): number => Math.max(0, 2 * Math.floor(value / 2));
  const high = (value: number, side: number): number => Math.min(side, 2 * Math.ceil(value / 2));
  return {
    left: low(left * widthPx - across),
    top: low(top * heightPx - down),
    right: high(right * widthPx + across, widthPx),
    bottom: high(bottom * heightPx + down, heightPx),
  };
}

/** The keyframes that lie in the time of a frame. */
export function keyframesIn(annotation: Annotation, span: Span): Keyframe[] {
  return (annotation.keyframes ?? []).filter(
    ({ t_ms }) => t_ms >= span.fromMs && t_ms < span.untilMs,
  );
}

/**
 * The time of a keyframe in a frame: in whole microseconds, and surely after its beginning. A
 * decimal number that is stored a little too low would lie in the frame before, and the renderer
 * would hide that one, too.
 */
export function instantIn({ fromMs, untilMs }: Span): number {
  if (fromMs === 0) return 0;
  return Math.min(Math.round(fromMs * 1000 + 1) / 1000, (fromMs + untilMs) / 2);
}

/** Where the box is in a frame: at its keyframe, if it has one. */
export function boxIn(annotation: Annotation & { keyframes: Keyframe[] }, span: Span): Box {
  const [own] = keyframesIn(annotation, span);
  if (own === undefined) return boxAt(annotation.keyframes, instantIn(span));
  const { x, y, w, h } = own;
  return { x, y, w, h };
}

/** Puts a box into a frame: into its keyframe, or a new one. The annotation grows if it must. */
export function withBox(annotation: Annotation, span: Span, box: Box): Annotation {
  const [own] = keyframesIn(annotation, span);
  const t_ms = own?.t_ms ?? instantIn(span);
  const others = (annotation.keyframes ?? []).filter(
    (each) => each.t_ms < span.fromMs || each.t_ms >= span.untilMs,
  );
  const keyframes = [...others, { t_ms, ...fitted(box) }].sort((a, b) => a.t_ms - b.t_ms);
  return {
    ...annotation,
    start_ms: Math.min(annotation.start_ms, t_ms),
    end_ms: Math.max(annotation.end_ms, t_ms),
    keyframes,
  };
}

/** Removes the keyframes of a frame. The last one stays: without any, the sound would be muted. */
export function withoutKeyframe(annotation: Annotation, span: Span): Annotation {
  const gone = new Set(keyframesIn(annotation, span));
  const kept = (annotation.keyframes ?? []).filter((each) => !gone.has(each));
  return gone.size === 0 || kept.length === 0 ? annotation : { ...annotation, keyframes: kept };
}

/** Changes when an annotation begins or ends; the box is where it was at both ends. */
export function withSpan(annotation: Annotation, startMs: number, endMs: number): Annotation {
  const [start_ms, end_ms] = [Math.min(startMs, endMs), Math.max(startMs, endMs)];
  if (!hasBoxes(annotation)) return { ...annotation, start_ms, end_ms };
  const { keyframes } = annotation;
  const inside = keyframes.filter(({ t_ms }) => t_ms >= start_ms && t_ms <= end_ms);
  const ends = [start_ms, end_ms].filter((ms, place) => {
    const isCut = keyframes.some(({ t_ms }) => (place === 0 ? t_ms < ms : t_ms > ms));
    return isCut && !inside.some(({ t_ms }) => t_ms === ms);
  });
  const added = [...new Set(ends)].map((t_ms) => ({ t_ms, ...boxAt(keyframes, t_ms) }));
  return {
    ...annotation,
    start_ms,
    end_ms,
    keyframes: [...inside, ...added].sort((a, b) => a.t_ms - b.t_ms),
  };
}

/** Moves a box, as far as the picture goes. */
export function moved(box: Box, dx: number, dy: number): Box {
  const x = clamp(box.x + dx, 0, 1 - box.w);
  const y = clamp(box.y + dy, 0, 1 - box.h);
  return { ...box, x, y };
}

/** Which edges a handle moves: -1 for left or top, 1 for right or bottom, 0 for none. */
export interface Handle {
  across: -1 | 0 | 1;
  down: -1 | 0 | 1;
}

/** Moves edges of a box; it never becomes smaller than can be seen, and stays in the picture. */
export function resized(box: Box, { across, down }: Handle, dx: number, dy: number): Box {
  const edges = edgesOf(box);
  if (across < 0) edges.left = clamp(edges.left + dx, 0, edges.right - MIN_SIDE);
  if (across > 0) edges.right = clamp(edges.right + dx, edges.left + MIN_SIDE, 1);
  if (down < 0) edges.top = clamp(edges.top + dy, 0, edges.bottom - MIN_SIDE);
  if (down > 0) edges.bottom = clamp(edges.bottom + dy, edges.top + MIN_SIDE, 1);
  return boxOf(edges);
}

/** The box between two corners; null if it is too small to be meant. */
export function drawn(x1: number, y1: number, x2: number, y2: number): Box | null {
  const [left, right] = [clamp(Math.min(x1, x2), 0, 1), clamp(Math.max(x1, x2), 0, 1)];
  const [top, bottom] = [clamp(Math.min(y1, y2), 0, 1), clamp(Math.max(y1, y2), 0, 1)];
  const isMeant = right - left >= MIN_SIDE && bottom - top >= MIN_SIDE;
  return isMeant ? boxOf({ left, top, right, bottom }) : null;
}

/** Numbers that the API accepts: four decimals more than a pixel needs, and never beyond 1. */
function fitted({ x, y, w, h }: Box): Box {
  const [left, top] = [rounded(clamp(x, 0, 1)), rounded(clamp(y, 0, 1))];
  return {
    x: left,
    y: top,
    w: Math.min(rounded(w), rounded(1 - left)),
    h: Math.min(rounded(h), rounded(1 - top)),
  };
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}

function edgesAt(keyframes: readonly Keyframe[], ms: number): Edges {
  const after = keyframes.findIndex(({ t_ms }) => t_ms > ms);
  if (after === 0) return edgesOf(keyframes[0]!);
  if (after < 0) return edgesOf(keyframes.at(-1)!);
  const [from, to] = [keyframes[after - 1]!, keyframes[after]!];
  const part = (ms - from.t_ms) / (to.t_ms - from.t_ms);
  const [a, b] = [edgesOf(from), edgesOf(to)];
  return {
    left: a.left + part * (b.left - a.left),
    top: a.top + part * (b.top - a.top),
    right: a.right + part * (b.right - a.right),
    bottom: a.bottom + part * (b.bottom - a.bottom),
  };
}

function union(a: Edges, b: Edges): Edges {
  return {
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  };
}

function edgesOf({ x, y, w, h }: Box): Edges {
  return { left: x, top: y, right: x + w, bottom: y + h };
}

function boxOf({ left, top, right, bottom }: Edges): Box {
  return { x: left, y: top, w: right - left, h: bottom - top };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}

/** Keyframes that are at least so far from the one before, and that at `nowMs`. */
export function apart(
  keyframes: readonly Keyframe[],
  distanceMs: number,
  nowMs: number,
): readonly Keyframe[] {
  let lastMs = -Infinity;
  return keyframes.filter(({ t_ms }) => {
    const isFar = t_ms - lastMs >= distanceMs;
    if (isFar) lastMs = t_ms;
    return isFar || t_ms === nowMs;
  });
}
