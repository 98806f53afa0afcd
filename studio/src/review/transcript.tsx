/** The words of a film; a range of them can be muted. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Annotation } from "./boxes.ts";
import type { Item } from "./correction.ts";

/** Longer transcripts are shown around the current word. */
const MAX_WORDS = 2000;

export function Transcript({
  words,
  mutes,
  nowMs,
  isReadOnly,
  onGo,
  onMute,
  onUnmute,
}: {
  words: readonly Annotation[];
  mutes: readonly Item[];
  nowMs: number;
  isReadOnly: boolean;
  onGo: (ms: number) => void;
  onMute: (startMs: number, endMs: number) => void;
  onUnmute: (ids: number[]) => void;
}): JSX.Element {
  const [range, setRange] = useState<[number, number] | null>(null);
  const after = words.findIndex(({ start_ms }) => start_ms > nowMs);
  const current = (after < 0 ? words.length : after) - 1;
  const first = Math.max(0, Math.min(current - MAX_WORDS / 2, words.length - MAX_WORDS));
  const shown = words.slice(first, first + MAX_WORDS);
  const touches = ({ start_ms, end_ms }: Annotation): Item[] =>
    mutes.filter(({ annotation: each }) => each.start_ms < end_ms && each.end_ms > start_ms);
  const chosen = range === null ? [] : words.slice(Math.min(...range), Math.max(...range) + 1);
  const muted = [...new Set(chosen.flatMap(touches).map(({ id }) => id))];
  return (
    <section class="card stack" aria-label="Transcript">
      <h2>Transcript</h2>
      <div class="row">
        <button
          type="button"
          disabled={isReadOnly || chosen.length === 0}
          onClick={() => onMute(chosen[0]!.start_ms, chosen.at(-1)!.end_ms)}
        >
          Mute
        </button>
        <button
          type="button"
          disabled={isReadOnly || muted.length === 0}
          onClick={() => onUnmute(muted)}
        >
          Unmute
        </button>
        <span class="quiet">Choose a word; with Shift, up to another one.</span>
      </div>
      <p class="review-words">
        {shown.map((word, place) => {
          const index = first + place;
          const names = [
            index === current && "current",
            chosen.includes(word) && "chosen",
            touches(word).length > 0 && "muted",
          ];
          return (
            <button
              key={index}
              type="button"
              class={names.filter(Boolean).join(" ")}
              aria-pressed={chosen.includes(word)}
              onClick={(event) => {
                setRange(event.shiftKey && range !== null ? [range[0], index] : [index, index]);
                onGo(word.start_ms);
              }}
            >
              {word.text}
            </button>
          );
        })}
      </p>
    </section>
  );
}
