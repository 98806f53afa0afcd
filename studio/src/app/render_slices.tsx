/** How a render is made: its slices with their progress, times and console. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { request, type ResultOf } from "../lib/api.ts";
import { percent } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { ProblemNote } from "../ui/parts.tsx";
import { barsOf, type TimedSlice } from "./slice_bars.ts";

type Slice = ResultOf<"get", "/api/v1/renders/{render_id}/slices">["slices"][number];

const POLL_MS = 700;

export function RenderSlices({
  id,
  isActive,
  version,
}: {
  id: string;
  isActive: boolean;
  version: number;
}): JSX.Element | null {
  const loaded = useLoad(
    () => request("get", "/api/v1/renders/{render_id}/slices", { path: { render_id: id } }),
    [id, version],
  );
  useInterval(loaded.reload, isActive ? POLL_MS : null);
  // The last slices are finished between the last question and the end.
  useEffect(loaded.reload, [isActive]);
  const slices = loaded.value?.slices ?? [];
  if (slices.length === 0) return <ProblemNote problem={loaded.problem} />;
  const bars = barsOf(slices as readonly TimedSlice[], Date.now());
  return (
    <section class="card stack" aria-label="Slices">
      <h2>Slices</h2>
      <p class="quiet">Parts of the film, which several workers make at the same time.</p>
      <div class="waterfall" role="table" aria-label="Slices over time">
        {slices.map((slice, at) => (
          <div role="row" class="waterfall-row" key={slice.number}>
            <span role="cell">
              {slice.number + 1}{" "}
              <span class="quiet">
                frames {slice.first_frame}–{slice.first_frame + slice.frame_count - 1}
              </span>
            </span>
            <span role="cell" class="track">
              <SliceBar slice={slice} bar={bars[at] ?? null} />
            </span>
          </div>
        ))}
      </div>
      <Console slices={slices} />
    </section>
  );
}

function SliceBar({
  slice,
  bar,
}: {
  slice: Slice;
  bar: { left: number; width: number; seconds: number } | null;
}): JSX.Element {
  const part = slice.frames_done / Math.max(1, slice.frame_count);
  const again = slice.attempt > 1 ? `, attempt ${slice.attempt}` : "";
  if (bar === null) return <span class="wait-text quiet">{slice.status}</span>;
  const isDone = slice.status === "done";
  const text = isDone
    ? `${bar.seconds.toFixed(1)} s, ${slice.method ?? ""}${again}`
    : `${percent(part)}${again}`;
  return (
    <span
      class={`bar ${isDone ? "good" : ""}`}
      title={slice.reason ? `${text}: ${slice.reason}` : text}
      style={{ left: `${100 * bar.left}%`, width: `${100 * bar.width}%` }}
    >
      {text}
    </span>
  );
}

/** What scripts of the page wrote, in the order of the slices. */
function Console({ slices }: { slices: readonly Slice[] }): JSX.Element | null {
  const lines = slices.flatMap(({ number, console }) =>
    console.map((line) => ({ ...line, number })),
  );
  if (lines.length === 0) return null;
  return (
    <details open={lines.length < 20}>
      <summary>Console ({lines.length})</summary>
      <ol class="console mono">
        {lines.map(({ level, text, number }) => (
          <li class={level}>
            <span class="quiet">{number + 1}</span> {text}
          </li>
        ))}
      </ol>
    </details>
  );
}
