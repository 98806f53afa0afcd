/** The timeline: a ruler with the playhead, what is cached, and a bar for each track. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { clockText, secondsOf, type Composition, type Track } from "./model.ts";
import type { Playback } from "./playback.ts";

interface Properties {
  composition: Composition;
  playback: Playback;
}

export function Timeline({ composition, playback }: Properties): JSX.Element {
  return (
    <section class="timeline" aria-label="Timeline">
      <Ruler composition={composition} playback={playback} />
      {composition.tracks.length === 0 && (
        <p class="tracks quiet">No timed elements: the whole page is one picture that moves.</p>
      )}
      {composition.tracks.length > 0 && (
        <div class="tracks" role="list" aria-label="Tracks">
          {composition.tracks.map((track, index) => (
            <TrackRow
              key={`${index} ${track.name}`}
              track={track}
              isFirst={index === 0}
              composition={composition}
              playback={playback}
            />
          ))}
        </div>
      )}
    </section>
  );
}

/** A slider over all frames: dragged with a pointer, moved with keys. */
function Ruler({ composition, playback }: Properties): JSX.Element {
  const ruler = useRef<HTMLDivElement>(null);
  const last = Math.max(1, playback.count - 1);
  const frame = playback.frame.value;
  const range = playback.range.value;
  const seek = (event: PointerEvent): void => {
    const box = ruler.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return;
    playback.seek(((event.clientX - box.left) / box.width) * last);
  };
  const seconds = secondsOf(frame, playback.rate);
  return (
    <div
      ref={ruler}
      class="ruler"
      role="slider"
      tabIndex={0}
      aria-label="Position"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, playback.count - 1)}
      aria-valuenow={frame}
      aria-valuetext={`frame ${frame}, ${clockText(seconds)}`}
      onPointerDown={(event) => {
        (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
        seek(event);
      }}
      onPointerMove={(event) => {
        if (event.buttons & 1) seek(event);
      }}
    >
      <CachedBar playback={playback} />
      {range !== null && (
        <div
          class={`range ${playback.isLooping.value ? "on" : ""}`}
          style={{ left: percent(range[0], last), width: percent(range[1] - range[0], last) }}
        />
      )}
      {ticks(composition.duration_ms).map((ms) => (
        <span class="tick" style={{ left: percent(ms, composition.duration_ms) }}>
          {clockText(ms / 1000).replace(/\.?0+$/, "")}
        </span>
      ))}
      <div class="playhead" style={{ left: percent(frame, last) }} />
    </div>
  );
}

/** Which frames are here already. */
function CachedBar({ playback }: { playback: Playback }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frames = playback.frames.value;
  const changes = frames?.changes.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || frames === null) return;
    const { width, height } = context.canvas;
    context.clearRect(0, 0, width, height);
    context.fillStyle = getComputedStyle(context.canvas).color;
    for (let x = 0; x < width; x += 1) {
      if (frames.cached[Math.floor((x * frames.count) / width)]) context.fillRect(x, 0, 1, height);
    }
  }, [frames, changes]);
  return <canvas ref={canvas} class="cached" width={1000} height={1} aria-hidden="true" />;
}

function TrackRow({
  track,
  isFirst,
  composition,
  playback,
}: Properties & { track: Track; isFirst: boolean }): JSX.Element {
  const whole = composition.duration_ms || 1;
  const start = (track.start_ms / 1000).toFixed(2);
  const end = (track.end_ms / 1000).toFixed(2);
  const go = (): void => {
    const { numerator, denominator } = playback.rate;
    playback.seek(Math.ceil((track.start_ms * numerator) / (1000 * denominator) - 1e-6));
  };
  return (
    <div class="track" role="listitem">
      <button
        type="button"
        class={`bar ${track.kind}`}
        style={{
          left: percent(track.start_ms, whole),
          width: percent(track.end_ms - track.start_ms, whole),
        }}
        tabIndex={isFirst ? 0 : -1}
        title={`${track.selector ?? track.name}, ${start} to ${end} s`}
        aria-label={`${track.kind} ${track.name}, ${start} to ${end} seconds; go to its start`}
        onClick={go}
        onKeyDown={moveFocus}
      >
        <span style={{ paddingLeft: `${Math.min(8, track.depth) * 10}px` }}>{track.name}</span>
      </button>
    </div>
  );
}

/** Up and down go from track to track. */
function moveFocus(event: KeyboardEvent): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const row = (event.currentTarget as HTMLElement).parentElement;
  const next = event.key === "ArrowDown" ? row?.nextElementSibling : row?.previousElementSibling;
  const bar = next?.querySelector<HTMLElement>(".bar");
  if (!bar) return;
  event.preventDefault();
  bar.focus();
}

function percent(part: number, whole: number): string {
  return `${(100 * part) / (whole || 1)}%`;
}

/** About six round times. */
function ticks(durationMs: number): number[] {
  const steps = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000];
  const step = steps.find((each) => durationMs / each <= 6) ?? 3_600_000;
  const found = [];
  for (let ms = 0; ms < durationMs; ms += step) found.push(ms);
  return found;
}
