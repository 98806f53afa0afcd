/** The steps of a pipeline as a graph: columns by what they need, arrows from left to right. */

import type { JSX } from "preact";
import { placeSteps, type Step } from "./step_places.ts";

const WIDTH_PX = 150;
const HEIGHT_PX = 46;
const GAP_X_PX = 50;
const GAP_Y_PX = 18;

const KINDS: Record<string, string> = {
  succeeded: "good",
  failed: "bad",
  cancelled: "bad",
  expired: "bad",
  running: "busy",
};

export function StepGraph({
  steps,
  statuses = {},
}: {
  steps: Record<string, Step>;
  statuses?: Record<string, string>;
}): JSX.Element {
  const places = placeSteps(steps);
  const x = (column: number): number => 4 + column * (WIDTH_PX + GAP_X_PX);
  const y = (row: number): number => 4 + row * (HEIGHT_PX + GAP_Y_PX);
  const columns = 1 + Math.max(0, ...[...places.values()].map((place) => place.column));
  const rows = 1 + Math.max(0, ...[...places.values()].map((place) => place.row));
  return (
    <div class="graph" tabIndex={0} role="group" aria-label="Graph of the steps">
      <svg
        width={x(columns) - GAP_X_PX + 8}
        height={y(rows) - GAP_Y_PX + 8}
        role="img"
        aria-label={`Steps: ${Object.keys(steps).join(", ")}`}
      >
        {Object.entries(steps).flatMap(([key, { needs }]) =>
          (needs ?? []).flatMap((need) => {
            const [from, to] = [places.get(need), places.get(key)];
            if (!from || !to) return [];
            const [x1, y1] = [x(from.column) + WIDTH_PX, y(from.row) + HEIGHT_PX / 2];
            const [x2, y2] = [x(to.column), y(to.row) + HEIGHT_PX / 2];
            const middle = (x1 + x2) / 2;
            return [<path d={`M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`} />];
          }),
        )}
        {[...places].map(([key, { column, row }]) => (
          <g
            class={KINDS[statuses[key] ?? ""] ?? ""}
            transform={`translate(${x(column)},${y(row)})`}
          >
            <rect width={WIDTH_PX} height={HEIGHT_PX} rx="8" />
            <text x="10" y="19">
              {key}
            </text>
            <text x="10" y="36" opacity="0.7">
              {statuses[key] ?? steps[key]?.type}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
