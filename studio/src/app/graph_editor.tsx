/** The steps of a pipeline, changed by mouse and keyboard: the graph, and a form for one step. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { request, type Issue, type Problem } from "../lib/api.ts";
import { useLoad } from "../lib/load.ts";
import { valuesAt, type Schema } from "../ui/schema_fields.ts";
import { Field } from "../ui/parts.tsx";
import {
  addStep,
  changeStep,
  issuesByStep,
  makesCycle,
  removeStep,
  renameStep,
  toggleNeed,
  type Definition,
} from "./definition_edit.ts";
import { StepGraph } from "./step_graph.tsx";

export const DEFINITION_SCHEMA = "/schemas/pipeline-definition.json";
const PAUSE_MS = 400;

/** What the service says about a text, after a pause. Nothing is stored. */
export function useIssues(text: string): readonly Issue[] {
  const [issues, setIssues] = useState<readonly Issue[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    const check = async (): Promise<void> => {
      let body: unknown;
      try {
        body = JSON.parse(text);
      } catch {
        // The editor marks it itself.
        setIssues([]);
        return;
      }
      const { signal } = abort;
      const parts = { body: body as never, signal };
      const found = await request("post", "/api/v1/pipelines/validate", parts).catch(() => null);
      if (found === null || signal.aborted) return;
      setIssues(
        found.issues.map(({ path, code }) => ({ path, message: code.replaceAll("_", " ") })),
      );
    };
    const timer = setTimeout(() => void check(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return issues;
}

function useStepTypes(): readonly string[] {
  const loaded = useLoad(async () => {
    const response = await fetch(DEFINITION_SCHEMA);
    return response.ok ? ((await response.json()) as Schema) : null;
  }, []);
  return loaded.value ? valuesAt(loaded.value, ["steps", "any", "type"]).map(String) : [];
}

export function GraphEditor({
  definition,
  issues,
  onChange,
}: {
  definition: Definition;
  issues: readonly Issue[];
  onChange: (definition: Definition) => void;
}): JSX.Element {
  const [chosen, setChosen] = useState<string | null>(null);
  const types = useStepTypes();
  const [type, setType] = useState("");
  const selected = chosen !== null && chosen in definition.steps ? chosen : null;
  const byStep = issuesByStep(issues);
  const add = (): void => {
    const [changed, key] = addStep(definition, type || types[0] || "probe", selected);
    onChange(changed);
    setChosen(key);
  };
  const remove = (key: string): void => {
    onChange(removeStep(definition, key));
    setChosen(null);
  };
  return (
    <section class="card stack" aria-label="Graph editor">
      <div class="row">
        <select
          class="short"
          aria-label="Type of a new step"
          value={type || types[0] || ""}
          onChange={(event) => setType((event.currentTarget as HTMLSelectElement).value)}
        >
          {types.map((each) => (
            <option value={each}>{each}</option>
          ))}
        </select>
        <button type="button" disabled={types.length === 0} onClick={add}>
          Add step{selected !== null && ` after ${selected}`}
        </button>
        <span class="quiet">
          Choose a step to change it; drag from one step to another to connect them.
        </span>
      </div>
      <StepGraph
        steps={definition.steps}
        selected={selected}
        wrong={new Set(byStep.keys())}
        onSelect={setChosen}
        onRemove={remove}
        onConnect={(need, key) => onChange(toggleNeed(definition, key, need))}
      />
      {issues.length > 0 && (
        <div class="issues" role="status" aria-label="Issues">
          <ul>
            {issues.map(({ path, message }) => (
              <li>
                <code>{path || "definition"}</code>: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      {selected !== null && (
        <StepForm
          key={selected}
          name={selected}
          types={types}
          definition={definition}
          issues={byStep.get(selected) ?? []}
          onRename={(name) => {
            const changed = renameStep(definition, selected, name);
            if (changed === definition) return;
            onChange(changed);
            setChosen(name);
          }}
          onChange={onChange}
          onRemove={() => remove(selected)}
        />
      )}
    </section>
  );
}

function StepForm({
  name,
  types,
  definition,
  issues,
  onRename,
  onChange,
  onRemove,
}: {
  name: string;
  types: readonly string[];
  definition: Definition;
  issues: readonly Issue[];
  onRename: (name: string) => void;
  onChange: (definition: Definition) => void;
  onRemove: () => void;
}): JSX.Element {
  const step = definition.steps[name]!;
  const problemAt = (field: string) => {
    const issue = issues.find(({ path }) => path.startsWith(`steps.${name}.${field}`));
    return issue ? { message: issue.message, code: "", field, issues: [] } : null;
  };
  const others = Object.keys(definition.steps).filter((each) => each !== name);
  return (
    <form class="stack" aria-label={`Step ${name}`} onSubmit={(event) => event.preventDefault()}>
      <div class="option-fields">
        <Field label="Name of the step">
          {(attributes) => (
            <input
              {...attributes}
              value={name}
              onChange={(event) => onRename((event.currentTarget as HTMLInputElement).value.trim())}
            />
          )}
        </Field>
        <Field label="Type" name="type" problem={problemAt("type")}>
          {(attributes) => (
            <select
              {...attributes}
              value={step.type}
              onChange={(event) => {
                const { value } = event.currentTarget as HTMLSelectElement;
                onChange(changeStep(definition, name, { type: value }));
              }}
            >
              {[...new Set([step.type, ...types])].map((each) => (
                <option value={each}>{each}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <fieldset class="row">
        <legend>Needs</legend>
        {others.map((other) => {
          const isNeeded = (step.needs ?? []).includes(other);
          return (
            <label key={other} class="row">
              <input
                type="checkbox"
                checked={isNeeded}
                disabled={!isNeeded && makesCycle(definition, name, other)}
                onChange={() => onChange(toggleNeed(definition, name, other))}
              />
              {other}
            </label>
          );
        })}
        {others.length === 0 && <span class="quiet">There is no other step.</span>}
      </fieldset>
      <SettingsField
        value={step.with}
        problem={problemAt("with")}
        onChange={(value) => onChange(changeStep(definition, name, { with: value }))}
      />
      <div>
        <button type="button" class="danger" onClick={onRemove}>
          Delete this step
        </button>
      </div>
    </form>
  );
}

/** `with` as JSON; the definition follows whenever it can be read. */
function SettingsField({
  value,
  problem,
  onChange,
}: {
  value: unknown;
  problem: Problem | null;
  onChange: (value: unknown) => void;
}): JSX.Element {
  const written = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(written);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    // Changed in the text of the definition.
    if (!sameJson(text, written)) setText(written);
  }, [written]);
  const read = (typed: string): void => {
    setText(typed);
    try {
      onChange(typed.trim() === "" ? undefined : JSON.parse(typed));
      setFailure("");
    } catch (error) {
      setFailure((error as Error).message);
    }
  };
  const shown = failure
    ? { message: failure, code: "", field: "with", issues: [] }
    : problem && { ...problem, field: "with" };
  return (
    <Field label="Settings (with), as JSON" name="with" problem={shown}>
      {(attributes) => (
        <textarea
          {...attributes}
          class="mono"
          rows={4}
          value={text}
          onInput={(event) => read((event.currentTarget as HTMLTextAreaElement).value)}
        />
      )}
    </Field>
  );
}

function sameJson(left: string, right: string): boolean {
  try {
    const plain = (text: string): string => (text.trim() ? JSON.stringify(JSON.parse(text)) : "");
    return plain(left) === plain(right);
  } catch {
    return false;
  }
}
