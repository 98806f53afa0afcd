/** Where the steps of a pipeline stand in its graph. */

export interface Step {
  type: string;
  needs?: string[];
}

export interface Place {
  column: number;
  row: number;
}

/** A step stands one column behind the last that it needs. Cycles and unknown needs are ignored. */
export function placeSteps(steps: Record<string, Step>): Map<string, Place> {
  const columns = new Map<string, number>();
  const columnOf = (key: string, path: readonly string[]): number => {
    const known = columns.get(key);
    if (known !== undefined) return known;
    const needs = (steps[key]?.needs ?? []).filter((need) => need in steps && !path.includes(need));
    const column = Math.max(-1, ...needs.map((need) => columnOf(need, [...path, key]))) + 1;
    columns.set(key, column);
    return column;
  };
  const counts: number[] = [];
  const places = new Map<string, Place>();
  for (const key of Object.keys(steps)) {
    const column = columnOf(key, []);
    const row = counts[column] ?? 0;
    counts[column] = row + 1;
    places.set(key, { column, row });
  }
  return places;
}
