/** What a button does: at most once at a time, with its error. */

import { useState } from "preact/hooks";
import { isLoggedOut, problemOf, type Problem } from "./api.ts";
import { session } from "./session.ts";

export interface Action {
  problem: Problem | null;
  isRunning: boolean;
  run: (work: () => Promise<unknown>) => void;
}

export function useAction(): Action {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isRunning, setRunning] = useState(false);
  const run = (work: () => Promise<unknown>): void => {
    if (isRunning) return;
    setRunning(true);
    setProblem(null);
    work()
      .catch((error: unknown) => {
        if (isLoggedOut(error)) session.value = null;
        setProblem(problemOf(error));
      })
      .finally(() => setRunning(false));
  };
  return { problem, isRunning, run };
}
