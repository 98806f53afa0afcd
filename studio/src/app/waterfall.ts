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

export interface AttemptTimes {
  step_key: string;
  number: number;
  created_at: string;
  sent_at?: string | null;
  ended_at?: string | null;
}

export interface Bar {
  kind: "good" | "bad" | "busy" | "wait";
  span: Span;
  /** Of the attempt. */
  number: number;
  title: string;
}

export interface Row {
  key: string;
  title: string;
  bars: Bar[];
}

/** A bar for each attempt, and one for the time that it waited before. */
export function barsOf(
  steps: readonly StepTimes[],
  nowMs: number,
  attempts: readonly AttemptTimes[] = [],
): Row[] {
  const read = (iso: string | null | undefined): number | null => (iso ? Date.parse(iso) : null);
  const times = [
    ...steps.flatMap((step) => [step.ready_at, step.started_at, step.completed_at]),
    ...attempts.flatMap((each) => [each.created_at, each.sent_at, each.ended_at]),
  ].flatMap((iso) => read(iso) ?? []);
  const isRunning = steps.some(({ started_at, completed_at }) => started_at && !completed_at);
  const first = Math.min(...times);
  const last = Math.max(...times, isRunning ? nowMs : first);
  const whole = Math.max(1, last - first);
  const span = (from: number, to: number): Span => [
    (100 * (from - first)) / whole,
    (100 * Math.max(0, to - from)) / whole,
  ];
  return steps.map((step) => {
    const own = attempts.filter((each) => each.step_key === step.step_key);
    const parts = own.length
      ? own.map((each) => [each.number, each.created_at, each.sent_at, each.ended_at] as const)
      : [[step.attempt, step.ready_at, step.started_at, step.completed_at] as const];
    const ended = read(step.completed_at) ?? last;
    const bars = parts.flatMap(([number, ready, started, end], at): Bar[] => {
      const [from, begun] = [read(ready), read(started)];
      const until = read(end) ?? ended;
      const isLast = at === parts.length - 1;
      const kind = !isLast
        ? "bad"
        : step.status === "succeeded"
          ? "good"
          : step.status === "failed"
            ? "bad"
            : "busy";
      const waited: Bar[] =
        from === null || from === begun
          ? []
          : [
              {
                kind: "wait",
                span: span(from, begun ?? until),
                number,
                title: `attempt ${number} waited ${seconds((begun ?? until) - from)}`,
              },
            ];
      if (begun === null) return waited;
      const title = `attempt ${number}, ${seconds(until - begun)}`;
      return [...waited, { kind, span: span(begun, until), number, title }];
    });
    const told = bars.map(({ title }) => title).join("; ");
    return { key: step.step_key, title: told ? `${step.status}: ${told}` : step.status, bars };
  });
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
