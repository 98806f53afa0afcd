/** A track for each annotation: when it is there, and its keyframes as diamonds. */

import type { JSX } from "preact";
import { duration } from "../lib/format.ts";
import { apart, hasBoxes } from "./boxes.ts";
import type { Item } from "./correction.ts";
import type { FrameTimes } from "./frames.ts";

/** Of more annotations than this, those around the current frame are shown. */
const MAX_ROWS = 200;
/** Closer than this part of the film, keyframes would cover each other. */
const DISTANCE = 1 / 60;

export function Tracks({
  items,
  frames,
  frame,
  selected,
  onSelect,
  onFrame,
}: {
  items: readonly Item[];
  frames: FrameTimes;
  frame: number;
  selected: number | null;
  onSelect: (id: number) => void;
  onFrame: (number: number) => void;
}): JSX.Element {
  const endMs = frames.endMs;
  const nowMs = frames.span(frame).fromMs;
  const distance = ({ annotation: { start_ms, end_ms } }: Item): number =>
    Math.max(0, start_ms - nowMs, nowMs - end_ms);
  const rows =
    items.length <= MAX_ROWS
      ? items
      : [...items].sort((a, b) => distance(a) - distance(b)).slice(0, MAX_ROWS);
  const at = (ms: number): string => `${(100 * Math.max(0, Math.min(endMs, ms))) / endMs}%`;
  return (
    <section class="card stack" aria-label="Annotations">
      <h2>
        Annotations <span class="quiet">{items.length}</span>
      </h2>
      {rows.length < items.length && (
        <p class="quiet">The {MAX_ROWS} that are nearest to this frame are shown.</p>
      )}
      {items.length === 0 && <p class="quiet">There are none. Draw a box on the picture.</p>}
      <div class="review-tracks">
        {rows.map((item) => {
          const { id, annotation } = item;
          const now = (annotation.keyframes ?? []).find((each) => frames.at(each.t_ms) === frame);
          const diamonds = apart(annotation.keyframes ?? [], DISTANCE * endMs, now?.t_ms ?? -1);
          const name = annotation.label ?? annotation.text ?? annotation.kind;
          return (
            <div key={id} class={id === selected ? "review-track selected" : "review-track"}>
              <button
                type="button"
                class="review-track-name"
                aria-pressed={id === selected}
                title={`${annotation.kind}, ${duration(annotation.start_ms)} to ${duration(annotation.end_ms)}`}
                onClick={() => {
                  onSelect(id);
                  if (distance(item) > 0) onFrame(frames.at(annotation.start_ms));
                }}
              >
                {name}
              </button>
              <div class="review-lane">
                <div
                  class={hasBoxes(annotation) ? "review-bar" : "review-bar muted"}
                  style={{
                    left: at(annotation.start_ms),
                    right: `calc(100% - ${at(annotation.end_ms)})`,
                  }}
                />
                {diamonds.map(({ t_ms }, place) => (
                  <button
                    key={t_ms}
                    type="button"
                    // There may be hundreds; Page Up and Page Down go to the others.
                    tabIndex={place === 0 ? 0 : -1}
                    class={frames.at(t_ms) === frame ? "review-diamond current" : "review-diamond"}
                    style={{ left: at(t_ms) }}
                    aria-label={`Keyframe of ${name} at frame ${frames.at(t_ms)}`}
                    onClick={() => {
                      onSelect(id);
                      onFrame(frames.at(t_ms));
                    }}
                  />
                ))}
                <div class="review-playhead" style={{ left: at(nowMs) }} />
              </div>
            </div>
          );
        })}
      </div>
    </section>
  );
}
