/** What was typed and not yet sent; it survives a reload of the page. */

import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

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
    if (value === initial) localStorage.removeItem(key);
    else store(key, value);
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

/** For the `ref` of a form: its named inputs are kept in this browser until it is reset. */
export function useFormDraft(name: string): RefObject<HTMLFormElement | null> {
  const key = `${PREFIX}${name}.form`;
  const form = useRef<HTMLFormElement>(null);
  // Before the form is painted: who types at once must not be faster.
  useLayoutEffect(() => {
    const element = form.current;
    if (element === null) return undefined;
    const inputs = [...element.elements].filter(
      (each): each is HTMLInputElement => each instanceof HTMLInputElement && each.name !== "",
    );
    const kept = readTexts(localStorage.getItem(key));
    for (const input of inputs) input.value = kept.get(input.name) ?? input.value;
    const save = (): void => {
      const typed = inputs.filter(({ value, defaultValue }) => value !== defaultValue);
      store(key, JSON.stringify(typed.map(({ name: field, value }) => [field, value])));
    };
    const forget = (): void => localStorage.removeItem(key);
    element.addEventListener("input", save);
    element.addEventListener("reset", forget);
    return () => {
      element.removeEventListener("input", save);
      element.removeEventListener("reset", forget);
    };
  }, [key]);
  return form;
}

/** Keeps a text in this browser. */
export function store(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The storage is full: the page still works, but a reload loses the text.
  }
}

/** Texts of fields as they were stored; none if something else was. */
function readTexts(stored: string | null): Map<string, string> {
  try {
    return new Map(JSON.parse(stored ?? "[]") as [string, string][]);
  } catch {
    return new Map();
  }
}
