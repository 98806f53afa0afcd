/** What is beside the picture: console and warnings, data, and films. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Field, Status } from "../ui/parts.tsx";
import { DataPanel } from "./data_panel.tsx";
import { send, type Composition, type Film } from "./model.ts";
import type { Playback } from "./playback.ts";

interface Properties {
  composition: Composition;
  playback: Playback;
  film: Film | null;
}

const TABS = ["Console", "Data", "Render"] as const;
type Tab = (typeof TABS)[number];

export function Panels(properties: Properties): JSX.Element {
  const [tab, setTab] = useState<Tab>("Console");
  const { composition } = properties;
  const errors = composition.warnings.length;
  const select = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.stopPropagation();
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length] as Tab;
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside class="panels">
      <div class="tabs" role="tablist" aria-label="Panels">
        {TABS.map((each) => (
          <button
            key={each}
            type="button"
            role="tab"
            id={`tab-${each}`}
            aria-controls="panel"
            aria-selected={each === tab}
            tabIndex={each === tab ? 0 : -1}
            onClick={() => setTab(each)}
            onKeyDown={select}
          >
            {each}
            {each === "Console" && errors > 0 && <span class="count">{errors}</span>}
          </button>
        ))}
      </div>
      <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === "Console" && <ConsolePanel composition={composition} />}
        {tab === "Data" && <DataPanel composition={composition} />}
        {tab === "Render" && <RenderPanel {...properties} />}
      </div>
    </aside>
  );
}

function ConsolePanel({ composition }: { composition: Composition }): JSX.Element {
  const { warnings, console: lines } = composition;
  if (warnings.length === 0 && lines.length === 0) {
    return <p class="quiet">No warnings, and nothing was written to the console.</p>;
  }
  return (
    <ul class="console">
      {warnings.map((text) => (
        <li class="warning">
          <span class="level">warning</span> {text}
        </li>
      ))}
      {lines.map(({ level, text }) => (
        <li class={level}>
          <span class="level">{level}</span> {text}
        </li>
      ))}
    </ul>
  );
}

const FORMATS = ["mp4", "webm", "mov", "gif", "png"] as const;
const PRESETS = ["draft", "standard", "high"] as const;

function RenderPanel({ playback, film }: Properties): JSX.Element {
  const [format, setFormat] = useState<string>("mp4");
  const [preset, setPreset] = useState<string>("standard");
  const [problem, setProblem] = useState<string | null>(null);
  const isRendering = film?.state === "rendering";
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    setProblem(null);
    try {
      await send(method, path, body);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="stack">
      <div class="row choices">
        <Field label="Format">
          {(attributes) => (
            <select
              {...attributes}
              value={format}
              onChange={(event) => setFormat(event.currentTarget.value)}
            >
              {FORMATS.map((each) => (
                <option value={each}>{each === "png" ? "png (this frame)" : each}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Preset">
          {(attributes) => (
            <select
              {...attributes}
              value={preset}
              disabled={format === "png"}
              onChange={(event) => setPreset(event.currentTarget.value)}
            >
              {PRESETS.map((each) => (
                <option value={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={isRendering || playback.count === 0}
          onClick={() =>
            void ask("POST", "/render", { format, preset, frame: playback.frame.value })
          }
        >
          Render
        </button>
        {isRendering && (
          <button type="button" onClick={() => void ask("DELETE", `/films/${film.id}`)}>
            Cancel
          </button>
        )}
      </div>
      {problem !== null && (
        <div class="note bad" role="alert">
          {problem}
        </div>
      )}
      {film !== null && <FilmCard film={film} />}
    </div>
  );
}

function FilmCard({ film }: { film: Film }): JSX.Element {
  const address = `/films/${film.id}`;
  const isPicture = /\.(gif|png)$/.test(film.name);
  return (
    <div class="stack film-card">
      <div class="row spread">
        <span class="mono">{film.name}</span>
        <Status value={film.state} />
      </div>
      {film.state === "rendering" && (
        <>
          <progress
            aria-label={`Frames of ${film.name}`}
            {...(film.count > 0 ? { value: film.done, max: film.count } : {})}
          />
          <span class="quiet">{film.count > 0 ? `${film.done} of ${film.count} frames` : "…"}</span>
        </>
      )}
      {film.message !== null && <div class="note bad">{film.message}</div>}
      {film.state === "complete" &&
        (isPicture ? (
          <img src={address} alt={film.name} />
        ) : (
          <video src={address} controls playsInline aria-label={film.name} />
        ))}
      {film.state === "complete" && (
        <a href={address} download={film.name}>
          Download
        </a>
      )}
    </div>
  );
}
