/** What a component shows of the service: loaded, loading or failed. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isLoggedOut, problemOf, type Problem } from "./api.ts";
import { session } from "./session.ts";

export interface Loaded<T> {
  value: T | null;
  problem: Problem | null;
  isLoading: boolean;
  reload: () => void;
}

/** Loads a value again whenever one of `inputs` changes; an older answer never replaces a newer. */
export function useLoad<T>(load: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({
    value: null,
    problem: null,
    isLoading: true,
  });
  const latest = useRef(0);
  const run = useCallback(() => {
    const number = ++latest.current;
    setState((before) => ({ ...before, isLoading: true }));
    load().then(
      (value) => {
        if (number === latest.current) setState({ value, problem: null, isLoading: false });
      },
      (error: unknown) => {
        if (number !== latest.current) return;
        if (isLoggedOut(error)) session.value = null;
        setState((before) => ({ ...before, problem: problemOf(error), isLoading: false }));
      },
    );
  }, inputs);
  useEffect(() => {
    run();
    return () => {
      latest.current += 1;
    };
  }, [run]);
  return { ...state, reload: run };
}

/** Calls `run` every `everyMs` while the tab is visible. */
export function useInterval(run: () => void, everyMs: number | null): void {
  const current = useRef(run);
  current.current = run;
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => {
      if (!document.hidden) current.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
