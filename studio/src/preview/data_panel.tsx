/** The data of a composition as a form, and as JSON. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Field } from "../ui/parts.tsx";
import { send, type Composition } from "./model.ts";

type Data = Record<string, unknown>;

export function DataPanel({ composition }: { composition: Composition }): JSX.Element {
  const given = JSON.stringify(composition.data ?? {}, null, 2);
  // What was typed counts until other data come. An effect would run after the first paint and
  // undo what was typed before it.
  const [draft, setDraft] = useState({ given, text: given });
  const text = draft.given === given ? draft.text : given;
  const setText = (typed: string): void => setDraft({ given, text: typed });
  const [problem, setProblem] = useState<string | null>(null);
  if (composition.kind === "config") {
    return <p class="quiet">A layer config has no data. A template has: config and inputs.</p>;
  }
  const data = parsed(text);
  const apply = async (): Promise<void> => {
    try {
      await send("PUT", "/data", JSON.parse(text));
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const change = (name: string, value: unknown): void =>
    setText(JSON.stringify({ ...data, [name]: value }, null, 2));
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void apply();
      }}
    >
      {data !== null &&
        fields(composition, data).map(({ name, hint, value }) => (
          <DataField
            key={name}
            name={name}
            hint={hint}
            value={value}
            set={(each) => change(name, each)}
          />
        ))}
      <Field label="As JSON">
        {(attributes) => (
          <textarea
            {...attributes}
            class="code small"
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      {data === null && <p class="message">This is not a JSON object.</p>}
      {problem !== null && (
        <div class="note bad" role="alert">
          {problem}
        </div>
      )}
      <div class="row">
        <button type="submit" class="primary" disabled={data === null}>
          Apply
        </button>
      </div>
    </form>
  );
}

interface DataEntry {
  name: string;
  value: unknown;
  hint: string | undefined;
}

/** Inputs of a template come first, whether they have a value or not. */
function fields({ data_schema }: Composition, data: Data): DataEntry[] {
  const inputs = Object.entries(data_schema ?? {}).filter(([name]) => !/[.*]/.test(name));
  const rules = new Map(inputs.map(([name, rule]) => [name, ruleText(rule)]));
  const names = new Set([...rules.keys(), ...Object.keys(data)]);
  return [...names].map((name) => {
    const hint = rules.get(name);
    return { name, hint, value: data[name] ?? emptyFor(hint) };
  });
}

function ruleText(rule: unknown): string {
  return Array.isArray(rule) ? rule.join(", ") : String(rule).replaceAll("|", ", ");
}

function emptyFor(rules: string | undefined): unknown {
  if (rules === undefined) return null;
  if (/\b(numeric|integer|decimal)\b/.test(rules)) return 0;
  if (/\bboolean\b/.test(rules)) return false;
  return /\barray\b/.test(rules) ? [] : "";
}

interface DataFieldProperties extends DataEntry {
  set: (value: unknown) => void;
}

/** An input that fits the type of a value. */
function DataField({ name, hint, value, set }: DataFieldProperties): JSX.Element {
  const shownHint = hint === undefined ? {} : { hint };
  return (
    <Field label={name} {...shownHint}>
      {(attributes) => {
        if (typeof value === "boolean") {
          return (
            <input
              {...attributes}
              type="checkbox"
              checked={value}
              onChange={(event) => set(event.currentTarget.checked)}
            />
          );
        }
        if (typeof value === "number") {
          return (
            <input
              {...attributes}
              type="number"
              step="any"
              value={value}
              onInput={(event) => set(event.currentTarget.valueAsNumber || 0)}
            />
          );
        }
        if (typeof value === "string") {
          return (
            <input
              {...attributes}
              value={value}
              onInput={(event) => set(event.currentTarget.value)}
            />
          );
        }
        return (
          <input
            {...attributes}
            class="mono"
            value={JSON.stringify(value)}
            onChange={(event) => set(parsedValue(event.currentTarget.value, value))}
          />
        );
      }}
    </Field>
  );
}

function parsed(text: string): Data | null {
  const value = parsedValue(text, null);
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Data)
    : null;
}

function parsedValue(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
