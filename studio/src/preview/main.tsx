/** The page of `framekiln preview`. Frames come from the server, which renders films with them. */

import "../ui/base.css";
import "./preview.css";
import { useSignal } from "@preact/signals";
import { render, type JSX } from "preact";
import { useCallback, useEffect, useMemo } from "preact/hooks";
import { isDisconnected, useEvents } from "../lib/events.ts";
import { clockText, secondsOf, type Composition, type Film } from "./model.ts";
import { Panels } from "./panels.tsx";
import { Picture, type Zoom } from "./picture.tsx";
import { Playback } from "./playback.ts";
import { Timeline } from "./timeline.tsx";

const SPEEDS = [0.25, 0.5, 1, 1.5, 2];

function PreviewPage(): JSX.Element {
  const composition = useSignal<Composition | null>(null);
  const film = useSignal<Film | null>(null);
  const zoom = useSignal<Zoom>("fit");
  const hasSafeAreas = useSignal(false);
  const playback = useMemo(() => new Playback(), []);
  const load = useCallback(async () => {
    const response = await fetch("/composition").catch(() => null);
    if (!response?.ok) return;
    const found = (await response.json()) as Composition;
    document.title = `${found.name} - Framekiln`;
    composition.value = found;
    film.value ??= found.film;
    if (found.version !== playback.frames.value?.version) playback.show(found);
  }, []);
  useEffect(() => {
    void load();
  }, []);
  // After a lost connection the state may have changed.
  useEffect(() => {
    if (!isDisconnected.value) void load();
  }, [isDisconnected.value]);
  useEvents("/events", {
    composition: () => void load(),
    notes: () => void load(),
    film: (data) => {
      film.value = JSON.parse(data) as Film;
    },
  });
  useKeys(playback, () => {
    hasSafeAreas.value = !hasSafeAreas.value;
  });
  const shown = composition.value;
  if (shown === null || (shown.frame_count === 0 && shown.error === null)) {
    return (
      <main class="preview loading">
        <p class="quiet">Opening the composition…</p>
      </main>
    );
  }
  return (
    <main class="preview">
      <header class="row spread">
        <h1>{shown.name}</h1>
        <span class="quiet">
          {shown.width}×{shown.height}, {shown.fps.replace(/\/1$/, "")} fps, {shown.frame_count}{" "}
          frames
        </span>
        {isDisconnected.value && (
          <span class="status bad" role="status">
            The preview has ended, or does not answer
          </span>
        )}
      </header>
      <section class="screen" aria-label="Picture">
        <Picture
          composition={shown}
          playback={playback}
          zoom={zoom.value}
          hasSafeAreas={hasSafeAreas.value}
        />
        <Controls
          playback={playback}
          zoom={zoom.value}
          setZoom={(value) => {
            zoom.value = value;
          }}
          hasSafeAreas={hasSafeAreas.value}
          toggleSafeAreas={() => {
            hasSafeAreas.value = !hasSafeAreas.value;
          }}
        />
        <Timeline composition={shown} playback={playback} />
      </section>
      <Panels composition={shown} playback={playback} film={film.value} />
    </main>
  );
}

interface ControlProperties {
  playback: Playback;
  zoom: Zoom;
  setZoom: (zoom: Zoom) => void;
  hasSafeAreas: boolean;
  toggleSafeAreas: () => void;
}

function Controls({
  playback,
  zoom,
  setZoom,
  hasSafeAreas,
  toggleSafeAreas,
}: ControlProperties): JSX.Element {
  const frame = playback.frame.value;
  const isPlaying = playback.isPlaying.value;
  return (
    <div class="controls row" role="toolbar" aria-label="Playback">
      <button type="button" title="Back one frame (←)" onClick={() => playback.step(-1)}>
        <span aria-hidden="true">◂</span>
        <span class="visually-hidden">Back one frame</span>
      </button>
      <button
        type="button"
        class="primary play"
        title="Play or pause (space)"
        onClick={() => void playback.toggle()}
      >
        {isPlaying ? "Pause" : "Play"}
      </button>
      <button type="button" title="Forward one frame (→)" onClick={() => playback.step(1)}>
        <span aria-hidden="true">▸</span>
        <span class="visually-hidden">Forward one frame</span>
      </button>
      <output class="time mono" aria-label="Time and frame">
        {clockText(secondsOf(frame, playback.rate))} · {frame}
      </output>
      <button
        type="button"
        title="Repeat (l); i and o set the part"
        aria-pressed={playback.isLooping.value}
        onClick={() => playback.toggleLoop()}
      >
        Loop
      </button>
      <button
        type="button"
        title="Mute (m)"
        aria-pressed={playback.isMuted.value}
        onClick={() => playback.setMuted(!playback.isMuted.value)}
      >
        Mute
      </button>
      <button
        type="button"
        title="Title area 80 %, action area 90 % (s)"
        aria-pressed={hasSafeAreas}
        onClick={toggleSafeAreas}
      >
        Safe areas
      </button>
      <select
        aria-label="Speed"
        value={playback.speed.value}
        onChange={(event) => playback.setSpeed(Number(event.currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option value={speed}>{speed}×</option>
        ))}
      </select>
      <select
        aria-label="Zoom"
        value={zoom}
        onChange={({ currentTarget: { value } }) =>
          setZoom(value === "fit" ? "fit" : value === "1" ? 1 : 2)
        }
      >
        <option value="fit">Fit</option>
        <option value="1">100 %</option>
        <option value="2">200 %</option>
      </select>
    </div>
  );
}

/** Keys of the whole page, except where text is typed. */
function useKeys(playback: Playback, toggleSafeAreas: () => void): void {
  useEffect(() => {
    const keys: Record<string, (event: KeyboardEvent) => void> = {
      " ": () => void playback.toggle(),
      ArrowLeft: ({ shiftKey }) => playback.step(shiftKey ? -10 : -1),
      ArrowRight: ({ shiftKey }) => playback.step(shiftKey ? 10 : 1),
      Home: () => playback.seek(0),
      End: () => playback.seek(playback.count - 1),
      i: () => playback.mark("first"),
      o: () => playback.mark("last"),
      l: () => playback.toggleLoop(),
      m: () => playback.setMuted(!playback.isMuted.value),
      s: toggleSafeAreas,
    };
    const press = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const isTyping = /^(INPUT|TEXTAREA|SELECT|VIDEO)$/.test(target.tagName);
      const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act === undefined || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      // A focused button is pressed by space itself.
      if (event.key === " " && target.tagName === "BUTTON") return;
      event.preventDefault();
      act(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [playback]);
}

render(<PreviewPage />, document.getElementById("root") as HTMLElement);
