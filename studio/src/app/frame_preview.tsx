/** A frame of what is written, drawn by the service, and what is wrong with it. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { problemOf, request, type Problem } from "../lib/api.ts";
import { isDisconnected } from "../lib/events.ts";
import type { Mark } from "../ui/editor.tsx";
import { ProblemNote, Warnings } from "../ui/parts.tsx";
import { lineOfPath, markIssues } from "./shared_text.ts";
import { describeWarning } from "./videos.tsx";

export interface Frame {
  url: string;
  warnings: readonly string[];
  durationS?: number | undefined;
}

const PAUSE_MS = 1_200;
/** After the slider was moved. */
const SCRUB_PAUSE_MS = 150;
const DEFAULT_DURATION_S = 10;

/** The last picture that was drawn, its time, and why there is no newer one. */
export interface Drawn {
  frame: Frame | null;
  problem: Problem | null;
  isDrawing: boolean;
  atS: number;
  setAt: (seconds: number) => void;
}

/**
 * A picture of what is written, made after a pause; the latest text wins.
 *
 * `draw` is called again when one of `written` or the time has changed.
 */
export function useFrame(
  written: readonly string[],
  draw: (atS: number, signal: AbortSignal) => Promise<Frame>,
): Drawn {
  const [atS, setAt] = useState(1);
  const [frame, setFrame] = useState<Frame | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isDrawing, setDrawing] = useState(false);
  const before = useRef<string | null>(null);
  const text = JSON.stringify(written);
  const isLost = isDisconnected.value;
  useEffect(() => {
    // It is drawn when the connection is back.
    if (isLost) return;
    const abort = new AbortController();
    const run = async (): Promise<void> => {
      setDrawing(true);
      try {
        const drawn = await draw(atS, abort.signal);
        if (abort.signal.aborted) return URL.revokeObjectURL(drawn.url);
        setFrame((last) => {
          if (last) URL.revokeObjectURL(last.url);
          return drawn;
        });
        setProblem(null);
      } catch (error) {
        if (!abort.signal.aborted) setProblem(problemOf(error));
      } finally {
        if (!abort.signal.aborted) setDrawing(false);
      }
    };
    const isSame = before.current === null || before.current === text;
    const timer = setTimeout(() => void run(), isSame ? SCRUB_PAUSE_MS : PAUSE_MS);
    before.current = text;
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text, atS, isLost]);
  return { frame, problem, isDrawing, atS, setAt };
}

/** A frame of a layer config. */
export async function drawConfig(
  config: unknown,
  atS: number,
  signal: AbortSignal,
): Promise<Frame> {
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

/** The picture with its time, and what is wrong; below it, what the page adds. */
export function FramePreview({
  of: { frame, problem, isDrawing, atS, setAt },
  durationS = DEFAULT_DURATION_S,
  issues,
  children,
}: {
  of: Drawn;
  /** As long as no frame says how long the film is. */
  durationS?: number | undefined;
  /** What is shown of the problem; null if it stands at a field. */
  issues: Problem | null;
  children?: ComponentChildren;
}): JSX.Element {
  const lengthS = Math.max(frame?.durationS ?? durationS, atS);
  return (
    <section class="stack" aria-label="Preview" aria-busy={isDrawing}>
      {frame ? (
        <img class="film checker" src={frame.url} alt={`The frame at ${atS} s`} />
      ) : (
        <div class="card quiet">{problem ? "No picture" : "Drawing a frame…"}</div>
      )}
      <FrameTime atS={atS} durationS={lengthS} onChange={setAt} />
      <Issues of={issues} />
      <Warnings of={frame?.warnings ?? []} />
      {children}
    </section>
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
      <span class="quiet" aria-hidden="true">
        s
      </span>
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

/** Where in the text the errors are, as far as the service says. */
export function marksOf(problem: Problem | null, text: string): readonly Mark[] {
  if (problem === null) return [];
  if (problem.issues.length > 0) return markIssues(problem.issues, text);
  const named = /\bline (\d+)/.exec(problem.message)?.[1];
  const line = named ? Number(named) : problem.field ? lineOfPath(text, problem.field) : null;
  return line === null ? [] : [{ line, message: problem.message, severity: "error" }];
}
