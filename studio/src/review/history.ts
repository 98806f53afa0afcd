/** States that can be undone and redone. Pure. */

const MAX_STEPS = 200;

export interface History<T> {
  readonly past: readonly T[];
  readonly present: T;
  readonly future: readonly T[];
  /** Changes with the same name, one after the other, are undone together. */
  readonly change: string | null;
}

export function beginHistory<T>(present: T): History<T> {
  return { past: [], present, future: [], change: null };
}

export function record<T>(
  history: History<T>,
  present: T,
  change: string | null = null,
): History<T> {
  if (present === history.present) return history;
  if (change !== null && change === history.change) return { ...history, present, future: [] };
  return {
    past: [...history.past, history.present].slice(-MAX_STEPS),
    present,
    future: [],
    change,
  };
}

export function undo<T>({ past, present, future, ...rest }: History<T>): History<T> {
  const before = past.at(-1);
  if (before === undefined) return { past, present, future, ...rest };
  return { past: past.slice(0, -1), present: before, future: [present, ...future], change: null };
}

export function redo<T>({ past, present, future, ...rest }: History<T>): History<T> {
  const [next, ...later] = future;
  if (next === undefined) return { past, present, future, ...rest };
  return { past: [...past, present], present: next, future: later, change: null };
}
