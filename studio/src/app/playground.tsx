/** Write a page or a layer config, see a frame of it, and make the film. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { client, problemOf, request, type Problem } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Editor, type Mark } from "../ui/editor.tsx";
import { Copy, Page, ProblemNote, Show, Warnings } from "../ui/parts.tsx";
import { OptionFields, withoutNulls, type RenderOptions } from "./render_options.tsx";
import { decodeShared, encodeShared, lineOfPath, markIssues, shortHash } from "./shared_text.ts";
import { configOf, describeWarning } from "./videos.tsx";

type Kind = "html" | "config";
interface Frame {
  url: string;
  warnings: readonly string[];
  durationS?: number | undefined;
}

const PAUSE_MS = 1_200;
/** After the slider was moved. */
const SCRUB_PAUSE_MS = 150;
const FIRST_PAGE = `<ef-timegroup mode="fixed" duration="4s" style="width: 1280px; height: 720px; background: #10141f">
  <h1 style="margin: 0; padding: 280px 90px; color: #ff9a52; font: 700 96px sans-serif; animation: rise 1s ease-out both">
    Hello
  </h1>
  <style>
    @keyframes rise { from { transform: translateY(80px); opacity: 0 } }
  </style>
</ef-timegroup>
`;
const FIRST_CONFIG = `{
  "dimensions": {"width": 1280, "height": 720},
  "duration": 4,
  "backgroundColor": "#10141f",
  "layers": [
    {"id": "title", "type": "text", "text": {"text": "Hello", "color": "#ff9a52", "fontSize": 96},
     "position": {"x": "center", "y": "center"}}
  ]
}
`;

export default function Playground(): JSX.Element {
  const { query } = place.value;
  const kind: Kind = query.get("kind") === "config" ? "config" : "html";
  const [renderId, videoId] = [query.get("render"), query.get("video")];
  const { hash } = location;
  const opened = useLoad(
    () => findStart(kind, { hash, renderId, videoId }),
    [kind, hash, renderId, videoId],
  );
  return <Show of={opened}>{(start) => <Bench key={start.name} kind={kind} start={start} />}</Show>;
}

/** What the editor begins with, and the name of its draft. */
interface Start {
  name: string;
  text: string;
  options: RenderOptions;
}

/** A shared text, a render or a video has a draft of its own: it never replaces what was typed. */
async function findStart(
  kind: Kind,
  from: { hash: string; renderId: string | null; videoId: string | null },
): Promise<Start> {
  const base = `playground.${kind}`;
  const shared = decodeShared(from.hash);
  if (shared !== null) {
    return { name: `${base}.link.${shortHash(shared)}`, text: shared, options: {} };
  }
  if (from.videoId !== null) {
    const text = JSON.stringify(await configOf(from.videoId), null, 2);
    return { name: `${base}.${from.videoId}`, text, options: {} };
  }
  if (from.renderId !== null) {
    const path = { render_id: from.renderId };
    const sent = await request("get", "/api/v1/renders/{render_id}/request", { path });
    if (sent.source !== "html") throw new Error("This render was not made from one page.");
    const response = await fetch(`/api/v1/renders/${encodeURIComponent(from.renderId)}/source`);
    const { width, height, fps, duration_ms, data } = sent;
    return {
      name: `${base}.${from.renderId}`,
      text: await response.text(),
      options: withoutNulls({ width, height, fps, duration_ms, data }),
    };
  }
  return { name: base, text: kind === "html" ? FIRST_PAGE : FIRST_CONFIG, options: {} };
}

function Bench({ kind, start }: { kind: Kind; start: Start }): JSX.Element {
  const [text, setText, forget] = useDraft(start.name, start.text);
  const [optionText, setOptionText, forgetOptions] = useDraft(
    `${start.name}.options`,
    JSON.stringify(start.options),
  );
  const options = JSON.parse(optionText) as RenderOptions;
  const [atS, setAt] = useState(1);
  const { frame, problem, isDrawing } = useFrame(kind, text, { atS, optionText });
  const action = useAction();
  const makeFilm = async (): Promise<void> => {
    if (kind === "html") {
      const body = { html: text, ...options } as never;
      const { id } = await request("post", "/api/v1/renders", { body });
      goTo(pathTo("renders", id));
    } else {
      const { id } = await client.videos.create(JSON.parse(text));
      goTo(pathTo("videos", id));
    }
  };
  const durationS = frame?.durationS ?? (options.duration_ms ? options.duration_ms / 1000 : 10);
  return (
    <Page
      title="Playground"
      actions={
        <>
          <select
            aria-label="What to write"
            value={kind}
            onChange={(event) => {
              const { value } = event.currentTarget as HTMLSelectElement;
              goTo(`${pathTo("playground")}?kind=${value}`);
            }}
          >
            <option value="html">HTML page</option>
            <option value="config">Layer config</option>
          </select>
          <Copy
            label="Copy a link to this"
            text={`${location.origin}${pathTo("playground")}?kind=${kind}#${encodeShared(text)}`}
          />
          <button
            type="button"
            onClick={() => {
              forget();
              forgetOptions();
            }}
          >
            Start again
          </button>
          <button
            type="button"
            class="primary"
            disabled={action.isRunning}
            onClick={() => action.run(makeFilm)}
          >
            Make the film
          </button>
        </>
      }
    >
      <ProblemNote problem={action.problem} />
      <div class="split">
        <Editor
          label={kind === "html" ? "HTML page" : "Layer config"}
          language={kind === "html" ? "html" : "json"}
          value={text}
          {...(kind === "config" && { schema: "/schemas/layer-config.json" })}
          marks={marksOf(problem, text)}
          onChange={setText}
        />
        <section class="stack" aria-label="Preview" aria-busy={isDrawing}>
          {frame ? (
            <img class="film checker" src={frame.url} alt={`The frame at ${atS} s`} />
          ) : (
            <div class="card quiet">{problem ? "No picture" : "Drawing a frame…"}</div>
          )}
          <FrameTime atS={atS} durationS={Math.max(durationS, atS)} onChange={setAt} />
          {kind === "html" && (
            <OptionFields
              options={options}
              onChange={(changed) => setOptionText(JSON.stringify(changed))}
            />
          )}
          <Issues of={problem} />
          <Warnings of={frame?.warnings ?? []} />
        </section>
      </div>
    </Page>
  );
}

/** A slider over the film, and the exact time. */
function FrameTime({
  atS,
  durationS,
  onChange,
}: {
  atS: number;
  durationS: number;
  onChange: (seconds: number) => void;
}): JSX.Element {
  const set = (event: Event): void => {
    const { valueAsNumber } = event.currentTarget as HTMLInputElement;
    if (valueAsNumber >= 0) onChange(valueAsNumber);
  };
  return (
    <div class="row">
      <input
        class="grow"
        type="range"
        aria-label="Time of the frame"
        min="0"
        max={durationS}
        step="0.05"
        value={atS}
        onInput={set}
      />
      <input
        class="time"
        type="number"
        aria-label="Time of the frame in seconds"
        min="0"
        step="0.05"
        value={atS}
        onInput={set}
      />
    </div>
  );
}

/** Everything that is wrong. */
function Issues({ of: problem }: { of: Problem | null }): JSX.Element | null {
  if (problem === null || problem.issues.length < 2) return <ProblemNote problem={problem} />;
  return (
    <div class="note bad" role="alert">
      <ul>
        {problem.issues.map(({ path, message }) => (
          <li>
            <code>{path}</code>: {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A picture of what is written, made by the engine after a pause; the latest text wins. */
function useFrame(
  kind: Kind,
  text: string,
  { atS, optionText }: { atS: number; optionText: string },
) {
  const [frame, setFrame] = useState<Frame | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isDrawing, setDrawing] = useState(false);
  const written = useRef<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const draw = async (): Promise<void> => {
      setDrawing(true);
      try {
        const drawn = await (kind === "html"
          ? drawPage({ ...JSON.parse(optionText), html: text }, atS, abort.signal)
          : drawConfig(text, atS, abort.signal));
        if (abort.signal.aborted) return;
        setFrame((before) => {
          if (before) URL.revokeObjectURL(before.url);
          return drawn;
        });
        setProblem(null);
      } catch (error) {
        if (!abort.signal.aborted) setProblem(problemOf(error));
      } finally {
        if (!abort.signal.aborted) setDrawing(false);
      }
    };
    const isSame = written.current === null || written.current === text + optionText;
    const timer = setTimeout(() => void draw(), isSame ? SCRUB_PAUSE_MS : PAUSE_MS);
    written.current = text + optionText;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [kind, text, atS, optionText]);
  return { frame, problem, isDrawing };
}

/** A still of the page; the render is deleted as soon as its picture is here. */
async function drawPage(
  asked: RenderOptions & { html: string },
  atS: number,
  signal: AbortSignal,
): Promise<Frame> {
  const output = { container: "jpeg" } as never;
  const duration_ms = Math.round(1000 * atS);
  const body = { ...asked, duration_ms, output, metadata: { preview: "1" } } as never;
  const { id } = await client.renders.create(body);
  try {
    const render = await client.renders.wait(id, { signal });
    const picture = await client.renders.download(id, signal);
    return { url: URL.createObjectURL(await picture.blob()), warnings: render.warnings ?? [] };
  } finally {
    void discard(id);
  }
}

/** Deletes a render that nobody needs any more; while it is made, that is refused. */
async function discard(id: string): Promise<void> {
  await client.renders.wait(id).catch(() => undefined);
  await client.renders.delete(id).catch(() => undefined);
}

async function drawConfig(text: string, atS: number, signal: AbortSignal): Promise<Frame> {
  const config: unknown = JSON.parse(text);
  const plan = (await request("post", "/v2/videos/plan", {
    body: { config: config as never },
    signal,
  })) as { warnings?: unknown[]; duration?: number };
  const response = await fetch("/v2/videos/frame", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ config, t: atS }),
    signal,
  });
  if (!response.ok) {
    const { message } = (await response.json()) as { message: string };
    throw new Error(message);
  }
  const warnings = (plan.warnings ?? []).map(describeWarning);
  const url = URL.createObjectURL(await response.blob());
  return { url, warnings, durationS: plan.duration };
}

/** Where in the text the errors are, as far as the service says. */
function marksOf(problem: Problem | null, text: string): readonly Mark[] {
  if (problem === null) return [];
  if (problem.issues.length > 0) return markIssues(problem.issues, text);
  const named = /\bline (\d+)/.exec(problem.message)?.[1];
  const line = named ? Number(named) : problem.field ? lineOfPath(text, problem.field) : null;
  return line === null ? [] : [{ line, message: problem.message, severity: "error" }];
}
