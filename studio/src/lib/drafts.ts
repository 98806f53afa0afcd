/** What was typed and not yet sent; it survives a reload of the page. */

import { useEffect, useRef, useState } from "preact/hooks";

const PREFIX = "framekiln.draft.";
const PAUSE_MS = 300;

/** A state that is kept in this browser under `name` until `forget` is called. */
export function useDraft(
  name: string,
  initial: string,
): [value: string, set: (value: string) => void, forget: () => void] {
  const key = PREFIX + name;
  const [value, setValue] = useState(() => localStorage.getItem(key) ?? initial);
  const save = useRef(() => undefined as void);
  save.current = () => {
    try {
      if (value === initial) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      // The storage is full: the page still works, but a reload loses the text.
    }
  };
  useEffect(() => {
    const timer = setTimeout(() => save.current(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [key, value, initial]);
  // Whoever leaves within the pause loses nothing either.
  useEffect(() => {
    const flush = (): void => save.current();
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      flush();
    };
  }, [key]);
  const forget = (): void => {
    localStorage.removeItem(key);
    save.current = () => undefined;
    setValue(initial);
  };
  return [value, setValue, forget];
}
