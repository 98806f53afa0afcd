/** A field for each input of a template, by the schema of its data. */

import type { JSX } from "preact";
import type { Problem } from "../lib/api.ts";
import { Field } from "../ui/parts.tsx";

export interface DataSchema {
  properties?: Record<string, InputSchema>;
  required?: string[];
  examples?: Record<string, unknown>[];
}

interface InputSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
}

/** What was typed, by input. */
export type Typed = Readonly<Record<string, string>>;

export function DataFields({
  schema,
  typed,
  problem,
  onChange,
}: {
  schema: DataSchema;
  typed: Typed;
  problem: Problem | null;
  onChange: (typed: Typed) => void;
}): JSX.Element {
  const inputs = Object.entries(schema.properties ?? {});
  if (inputs.length === 0) return <p class="quiet">This template has no inputs.</p>;
  return (
    <>
      {inputs.map(([name, input]) => (
        <Field
          label={schema.required?.includes(name) ? `${name} (required)` : name}
          name={name}
          problem={problem && { ...problem, field: inputOf(problem) }}
          {...(input.description && { hint: input.description })}
        >
          {(attributes) => {
            const value = typed[name] ?? firstText(schema, name);
            const change = (event: Event): void => {
              const { value: next } = event.currentTarget as HTMLInputElement;
              onChange({ ...typed, [name]: next });
            };
            return input.enum ? (
              <select {...attributes} name={name} value={value} onChange={change}>
                {input.enum.map((option) => (
                  <option value={textOf(option)}>{textOf(option)}</option>
                ))}
              </select>
            ) : (
              <input {...attributes} name={name} value={value} onInput={change} />
            );
          }}
        </Field>
      ))}
    </>
  );
}

/** The input that a problem is about: the service names a field of the request, `data.name`. */
export function inputOf({ field }: Problem): string | null {
  return field?.startsWith("data.") ? field.slice("data.".length) : null;
}

/** The data to send: an empty field is no value. */
export function dataOf(schema: DataSchema, typed: Typed): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, input]) => {
      const text = typed[name] ?? firstText(schema, name);
      return text === "" ? [] : [[name, valueOf(text, input)]];
    }),
  );
}

function firstText({ properties, examples }: DataSchema, name: string): string {
  return textOf(properties?.[name]?.default ?? examples?.[0]?.[name]);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function valueOf(text: string, { type }: InputSchema): unknown {
  const types = Array.isArray(type) ? type : [type];
  if (types.includes("string") || type === undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
