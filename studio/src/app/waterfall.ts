/** The times of a run's steps as parts of its whole time. */

export interface StepTimes {
  step_key: string;
  status: string;
  attempt: number;
  ready_at?: string | null;
  started_at?: string | null;
  completed_at?: string | null;
}

/** Begin and length in percent of the whole. */
export type Span = readonly [left: number, width: number];

export interface Bar {
  key: string;
  kind: "good" | "bad" | "busy";
  attempt: number;
  title: string;
  /** From being ready to the start. */
  wait: Span | null;
  /** From the start to the end, or until now. */
  work: Span | null;
}

export function barsOf(steps: readonly StepTimes[], nowMs: number): Bar[] {
  const times = steps.flatMap(({ ready_at, started_at, completed_at }) =>
    [ready_at, started_at, completed_at].flatMap((iso) => (iso ? [Date.parse(iso)] : [])),
  );
  const isRunning = steps.some(({ started_at, completed_at }) => started_at && !completed_at);
  const first = Math.min(...times);
  const last = Math.max(...times, isRunning ? nowMs : first);
  const whole = Math.max(1, last - first);
  const span = (from: number, to: number): Span => [
    (100 * (from - first)) / whole,
    (100 * Math.max(0, to - from)) / whole,
  ];
  return steps.map((step) => {
    const ready = step.ready_at ? Date.parse(step.ready_at) : null;
    const started = step.started_at ? Date.parse(step.started_at) : null;
    const ended = step.completed_at ? Date.parse(step.completed_at) : null;
    const until = ended ?? last;
    const worked = started === null ? "" : `, ${seconds(until - started)}`;
    const waited = ready === null || started === null ? "" : `, waited ${seconds(started - ready)}`;
    return {
      key: step.step_key,
      kind: step.status === "succeeded" ? "good" : step.status === "failed" ? "bad" : "busy",
      attempt: step.attempt,
      title: `${step.status}${worked}${waited}, attempt ${step.attempt}`,
      wait: ready === null || ready === started ? null : span(ready, started ?? until),
      work: started === null ? null : span(started, until),
    };
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
