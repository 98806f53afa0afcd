/** What a button does: at most once at a time, with its error. */

import { useRef, useState } from "preact/hooks";
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
  const isBusy = useRef(false);
  const run = (work: () => Promise<unknown>): void => {
    // The second click of two may come before the button is drawn as disabled.
    if (isBusy.current) return;
    isBusy.current = true;
    setRunning(true);
    setProblem(null);
    work()
      .catch((error: unknown) => {
        if (isLoggedOut(error)) session.value = null;
        setProblem(problemOf(error));
      })
      .finally(() => {
        isBusy.current = false;
        setRunning(false);
      });
  };
  return { problem, isRunning, run };
}
