/** What was typed and not yet sent; it survives a reload of the page. */

import { useEffect, useState } from "preact/hooks";

const PREFIX = "framekiln.draft.";
const PAUSE_MS = 300;

/** A state that is kept in this browser under `name` until `forget` is called. */
export function useDraft(
  name: string,
  initial: string,
): [value: string, set: (value: string) => void, forget: () => void] {
  const key = PREFIX + name;
  const [value, setValue] = useState(() => localStorage.getItem(key) ?? initial);
  useEffect(() => {
    const timer = setTimeout(() => {
      try {
        if (value === initial) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
      } catch {
        // The storage is full: the page still works, but a reload loses the text.
      }
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key, value, initial]);
  const forget = (): void => {
    localStorage.removeItem(key);
    setValue(initial);
  };
  return [value, setValue, forget];
}
