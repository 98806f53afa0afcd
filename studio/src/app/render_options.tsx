/** The size, rate, length and data of a render: what a request may say beside its page. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Field } from "../ui/parts.tsx";

export interface RenderOptions {
  width?: number;
  height?: number;
  fps?: number;
  duration_ms?: number;
  data?: Record<string, unknown>;
}

const NUMBERS = [
  ["width", "Width", 2],
  ["height", "Height", 2],
  ["fps", "Frames per second", 1],
  ["duration_ms", "Length in ms", 1],
] as const;

export function withoutNulls(values: Record<string, unknown>): RenderOptions {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null));
}

export function OptionFields({
  options,
  onChange,
}: {
  options: RenderOptions;
  onChange: (options: RenderOptions) => void;
}): JSX.Element {
  // Whoever empties the last field is still there.
  const [isOpen] = useState(Object.keys(options).length > 0);
  return (
    <details open={isOpen}>
      <summary>Size, rate, length and data</summary>
      <div class="option-fields">
        {NUMBERS.map(([name, label, min]) => (
          <Field key={name} label={label}>
            {(attributes) => (
              <input
                {...attributes}
                type="number"
                min={min}
                step="any"
                placeholder="of the page"
                value={options[name] ?? ""}
                onInput={(event) => {
                  const { valueAsNumber } = event.currentTarget as HTMLInputElement;
                  const value = Number.isFinite(valueAsNumber) ? valueAsNumber : null;
                  onChange(withoutNulls({ ...options, [name]: value }));
                }}
              />
            )}
          </Field>
        ))}
      </div>
      <DataField options={options} onChange={onChange} />
    </details>
  );
}

function DataField({
  options,
  onChange,
}: {
  options: RenderOptions;
  onChange: (options: RenderOptions) => void;
}): JSX.Element {
  const [text, setText] = useState(options.data ? JSON.stringify(options.data, null, 2) : "");
  const [message, setMessage] = useState("");
  const read = (written: string): void => {
    setText(written);
    try {
      const data: unknown = written.trim() === "" ? null : JSON.parse(written);
      if (data !== null && (typeof data !== "object" || Array.isArray(data))) {
        setMessage("The data must be an object.");
        return;
      }
      setMessage("");
      onChange(withoutNulls({ ...options, data }));
    } catch (error) {
      setMessage(String((error as Error).message));
    }
  };
  const problem = message ? { message, code: "", field: "data", issues: [] } : null;
  return (
    <Field
      label="Data (JSON)"
      name="data"
      hint="window.EF_RENDER_DATA in the page"
      problem={problem}
    >
      {(attributes) => (
        <textarea
          {...attributes}
          rows={4}
          class="mono"
          value={text}
          onInput={(event) => read((event.currentTarget as HTMLTextAreaElement).value)}
        />
      )}
    </Field>
  );
}
