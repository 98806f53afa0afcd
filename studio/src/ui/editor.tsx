/** An editor for HTML and JSON: CodeMirror, loaded when it is needed. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { EditorHandle } from "./code_mirror.ts";

export interface Mark {
  /** From 1. */
  line: number;
  message: string;
  severity: "error" | "warning";
}

interface Properties {
  language: "html" | "json";
  label: string;
  value: string;
  /** The address of a JSON Schema, for completion. */
  schema?: string;
  marks?: readonly Mark[];
  onChange: (value: string) => void;
}

export function Editor(properties: Properties): JSX.Element {
  const { language, label, value, schema, marks = [], onChange } = properties;
  const host = useRef<HTMLDivElement>(null);
  const handle = useRef<EditorHandle | null>(null);
  const change = useRef(onChange);
  change.current = onChange;
  /** What was typed and has not come back as `value` yet: setting it would undo what followed. */
  const reported = useRef<string[]>([]);
  const latest = useRef({ value, marks });
  latest.current = { value, marks };
  useEffect(() => {
    let isGone = false;
    void import("./code_mirror.ts").then(({ openEditor }) => {
      if (isGone || host.current === null) return;
      // In a shadow root its styles are sheets, which the policy of the page allows.
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      root.replaceChildren();
      handle.current = openEditor(
        root,
        { language, label, schema, value: latest.current.value },
        (text) => {
          reported.current.push(text);
          change.current(text);
        },
      );
      handle.current.mark(latest.current.marks);
    });
    return () => {
      isGone = true;
      handle.current?.close();
      handle.current = null;
    };
  }, [language, label, schema]);
  useEffect(() => {
    const place = reported.current.lastIndexOf(value);
    reported.current = place < 0 ? [] : reported.current.slice(place + 1);
    if (place < 0) handle.current?.set(value);
  }, [value]);
  useEffect(() => handle.current?.mark(marks), [marks]);
  return <div ref={host} class="editor" />;
}
