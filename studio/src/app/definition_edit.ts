/** Changes of a pipeline definition, as the graph editor makes them. Pure. */

import type { Step } from "./step_places.ts";

/** A definition, with fields that the editor does not know. */
export interface Definition {
  steps: Record<string, EditedStep>;
  [field: string]: unknown;
}

export interface EditedStep extends Step {
  with?: unknown;
  [field: string]: unknown;
}

/** The text as a definition, or null while it is not one. */
export function readDefinition(text: string): Definition | null {
  try {
    const value = JSON.parse(text) as Partial<Definition> | null;
    const steps = value?.steps;
    const isMap = typeof steps === "object" && steps !== null && !Array.isArray(steps);
    return isMap && Object.values(steps).every(isStep) ? (value as Definition) : null;
  } catch {
    return null;
  }
}

/** Whether it can be drawn: while it is typed, it may be anything. */
function isStep(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { needs = [] } = value as { needs?: unknown };
  return Array.isArray(needs) && needs.every((need) => typeof need === "string");
}

export function writeDefinition(definition: Definition): string {
  return `${JSON.stringify(definition, null, 2)}\n`;
}

/** Adds a step of a type after another, or alone; returns its name too. */
export function addStep(
  definition: Definition,
  type: string,
  after: string | null,
): [Definition, string] {
  let key = type;
  for (let number = 2; key in definition.steps; number++) key = `${type}_${number}`;
  const step: EditedStep = { type, ...(after !== null && { needs: [after] }) };
  return [{ ...definition, steps: { ...definition.steps, [key]: step } }, key];
}

export function removeStep(definition: Definition, key: string): Definition {
  const kept = Object.entries(definition.steps).filter(([name]) => name !== key);
  return withSteps(
    definition,
    kept.map(([name, step]) => [name, needing(step, (need) => (need === key ? null : need))]),
  );
}

/** The new name stands at the same place, and whoever needed the step still does. */
export function renameStep(definition: Definition, key: string, name: string): Definition {
  if (name === key || name === "" || name in definition.steps) return definition;
  return withSteps(
    definition,
    Object.entries(definition.steps).map(([each, step]) => [
      each === key ? name : each,
      needing(step, (need) => (need === key ? name : need)),
    ]),
  );
}

/** Whether `key` would then need itself. */
export function makesCycle(definition: Definition, key: string, need: string): boolean {
  const reached = new Set<string>();
  const visit = (name: string): boolean => {
    if (name === key) return true;
    if (reached.has(name)) return false;
    reached.add(name);
    return (definition.steps[name]?.needs ?? []).some(visit);
  };
  return visit(need);
}

/** Connects two steps, or disconnects them. */
export function toggleNeed(definition: Definition, key: string, need: string): Definition {
  const step = definition.steps[key];
  if (step === undefined || !(need in definition.steps)) return definition;
  const needs = step.needs ?? [];
  const isConnected = needs.includes(need);
  if (!isConnected && makesCycle(definition, key, need)) return definition;
  const changed = isConnected ? needs.filter((each) => each !== need) : [...needs, need];
  return changeStep(definition, key, { needs: changed });
}

/** Replaces fields of a step; `undefined` removes one. */
export function changeStep(
  definition: Definition,
  key: string,
  fields: Partial<EditedStep>,
): Definition {
  const merged = { ...definition.steps[key], ...fields } as EditedStep;
  const step = Object.fromEntries(Object.entries(merged).filter(([, each]) => each !== undefined));
  return { ...definition, steps: { ...definition.steps, [key]: step as EditedStep } };
}

/** The issues of each step, by its name; those of the whole are under the empty name. */
export function issuesByStep<T extends { path: string }>(issues: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const issue of issues) {
    const [first, key = ""] = issue.path.split(".");
    const name = first === "steps" ? key : "";
    found.set(name, [...(found.get(name) ?? []), issue]);
  }
  return found;
}

function needing(step: EditedStep, change: (need: string) => string | null): EditedStep {
  if (!Array.isArray(step.needs)) return step;
  return { ...step, needs: step.needs.map(change).filter((need) => need !== null) };
}

function withSteps(definition: Definition, steps: [string, EditedStep][]): Definition {
  return { ...definition, steps: Object.fromEntries(steps) };
}
