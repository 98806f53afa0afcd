/** Write a page or a layer config, see a frame of it, and make the film. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { client, problemOf, request, type Problem } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Editor, type Mark } from "../ui/editor.tsx";
import { Copy, Field, Page, ProblemNote, Warnings } from "../ui/parts.tsx";
import { decodeShared, encodeShared, lineOfPath } from "./shared_text.ts";
import { describeWarning } from "./videos.tsx";

type Kind = "html" | "config";
interface Frame {
  url: string;
  warnings: readonly string[];
}

const PAUSE_MS = 1_200;
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
  return <Bench key={kind} kind={kind} renderId={query.get("render")} />;
}

function Bench({ kind, renderId }: { kind: Kind; renderId: string | null }): JSX.Element {
  const [text, setText, forget] = useDraft(
    `playground.${kind}`,
    kind === "html" ? FIRST_PAGE : FIRST_CONFIG,
  );
  const [atS, setAt] = useState(1);
  const { frame, problem, isDrawing } = useFrame(kind, text, atS);
  const action = useAction();
  useEffect(() => {
    const shared = decodeShared(location.hash);
    if (shared !== null) setText(shared);
    else if (renderId !== null) {
      action.run(async () => {
        const response = await fetch(`/api/v1/renders/${encodeURIComponent(renderId)}/source`);
        if (!response.ok) throw new Error("This render has no page that could be opened here.");
        setText(await response.text());
      });
    }
  }, [renderId]);
  const makeFilm = async (): Promise<void> => {
    if (kind === "html") {
      const { id } = await request("post", "/api/v1/renders", { body: { html: text } });
      goTo(pathTo("renders", id));
    } else {
      const { id } = await client.videos.create(JSON.parse(text));
      goTo(pathTo("videos", id));
    }
  };
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
          <button type="button" onClick={forget}>
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
          marks={marksOf(problem, text)}
          onChange={setText}
        />
        <section class="stack" aria-label="Preview" aria-busy={isDrawing}>
          {frame ? (
            <img class="film checker" src={frame.url} alt={`The frame at ${atS} s`} />
          ) : (
            <div class="card quiet">{problem ? "No picture" : "Drawing a frame…"}</div>
          )}
          <Field label="Time of the frame in seconds">
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                min="0"
                step="0.1"
                value={atS}
                onInput={(event) => {
                  const { valueAsNumber } = event.currentTarget as HTMLInputElement;
                  if (valueAsNumber >= 0) setAt(valueAsNumber);
                }}
              />
            )}
          </Field>
          <ProblemNote problem={problem} />
          <Warnings of={frame?.warnings ?? []} />
        </section>
      </div>
    </Page>
  );
}

/** A picture of what is written, made by the engine after a pause; the latest text wins. */
function useFrame(kind: Kind, text: string, atS: number) {
  const [frame, setFrame] = useState<Frame | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isDrawing, setDrawing] = useState(false);
  const isFirst = useRef(true);
  useEffect(() => {
    const abort = new AbortController();
    const draw = async (): Promise<void> => {
      setDrawing(true);
      try {
        const drawn = await (kind === "html" ? drawPage : drawConfig)(text, atS, abort.signal);
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
    const timer = setTimeout(() => void draw(), isFirst.current ? 0 : PAUSE_MS);
    isFirst.current = false;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [kind, text, atS]);
  return { frame, problem, isDrawing };
}

/** A still of the page; the render is deleted as soon as its picture is here. */
async function drawPage(html: string, atS: number, signal: AbortSignal): Promise<Frame> {
  const output = { container: "jpeg" } as never;
  const body = { html, duration_ms: Math.round(1000 * atS), output, metadata: { preview: "1" } };
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
  })) as { warnings?: unknown[] };
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
  return { url: URL.createObjectURL(await response.blob()), warnings };
}

/** Where in the text the error is, as far as the service says. */
function marksOf(problem: Problem | null, text: string): readonly Mark[] {
  if (problem === null) return [];
  const named = /\bline (\d+)/.exec(problem.message)?.[1];
  const line = named ? Number(named) : problem.field ? lineOfPath(text, problem.field) : null;
  return line === null ? [] : [{ line, message: problem.message, severity: "error" }];
}
