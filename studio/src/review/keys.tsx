/** What keys do on the page of a review. */

import type { JSX } from "preact";

export interface KeyAction {
  name:
    | "play"
    | "step"
    | "seconds"
    | "mark"
    | "first"
    | "last"
    | "move"
    | "resize"
    | "new"
    | "delete"
    | "keyframe"
    | "no keyframe"
    | "begin"
    | "end"
    | "next box"
    | "preview"
    | "approve"
    | "reject"
    | "zoom"
    | "undo"
    | "redo"
    | "none";
  /** Frames, seconds, pixels or steps. */
  across: number;
  down: number;
}

const FAR = 10;
const JUMP_S = 5;
const ARROWS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
/** They move a slider that has the focus. */
const RANGE_KEYS = new Set(["Home", "End", "PageUp", "PageDown"]);
const PLAIN: Record<string, readonly [KeyAction["name"], number]> = {
  ",": ["step", -1],
  ".": ["step", 1],
  "<": ["step", -FAR],
  ">": ["step", FAR],
  j: ["seconds", -JUMP_S],
  l: ["seconds", JUMP_S],
  PageUp: ["mark", -1],
  PageDown: ["mark", 1],
  "[": ["begin", 0],
  "]": ["end", 0],
  "+": ["zoom", 1],
  "-": ["zoom", -1],
  a: ["approve", 0],
  r: ["reject", 0],
  b: ["next box", 0],
  k: ["keyframe", 0],
  K: ["no keyframe", 0],
  n: ["new", 0],
  p: ["preview", 0],
  Home: ["first", 0],
  End: ["last", 0],
  Delete: ["delete", 0],
  Backspace: ["delete", 0],
  Escape: ["none", 0],
};

const HELP: readonly (readonly [keys: string, what: string])[] = [
  ["Space", "play, stop"],
  [", .", "a frame back, forward; with Shift ten"],
  ["J L", "five seconds back, forward"],
  ["Page ↑ ↓", "previous, next keyframe, begin or end of the selected annotation, or of all"],
  ["Home End", "first, last frame"],
  ["B", "next box of this frame"],
  ["← → ↑ ↓", "move the box a pixel; with Shift ten, with Alt resize"],
  ["N", "new box"],
  ["K", "keyframe here; with Shift remove it"],
  ["[ ]", "begin, end here"],
  ["Delete", "delete the annotation"],
  ["P", "preview of the redaction"],
  ["+ -", "zoom"],
  ["A", "approve, after a question"],
  ["R", "reject, with a reason"],
  ["Ctrl Z", "undo; with Shift redo"],
];

/** The action of a key; null where it belongs to a field or to the browser. */
export function keyAction(event: KeyboardEvent): KeyAction | null {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  const target = event.target as Element | null;
  if (target?.closest("input:not([type=range]), select, textarea, dialog")) return null;
  const action = (name: KeyAction["name"], across = 0, down = 0): KeyAction => ({
    name,
    across,
    down,
  });
  if (ctrlKey || metaKey) {
    if (key.toLowerCase() === "z") return action(shiftKey ? "redo" : "undo");
    return key.toLowerCase() === "y" ? action("redo") : null;
  }
  const isRange = target?.closest("input") !== null && target?.closest("input") !== undefined;
  const arrow = ARROWS[key];
  if (arrow !== undefined) {
    if (isRange) return null;
    const far = shiftKey ? FAR : 1;
    return action(altKey ? "resize" : "move", far * arrow[0], far * arrow[1]);
  }
  if (altKey) return null;
  if (key === " ") return target?.closest("button") ? null : action("play");
  if (isRange && RANGE_KEYS.has(key)) return null;
  const plain = PLAIN[key];
  return plain === undefined ? null : action(...plain);
}

export function Keys(): JSX.Element {
  return (
    <details class="card">
      <summary>Keys</summary>
      <dl class="facts">
        {HELP.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}
