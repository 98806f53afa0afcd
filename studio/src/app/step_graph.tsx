/** The steps of a pipeline as a graph: columns by what they need, arrows from left to right. */

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
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

interface Properties {
  steps: Record<string, Step>;
  statuses?: Record<string, string>;
  selected?: string | null;
  /** Steps with issues. */
  wrong?: ReadonlySet<string>;
  /** With these the graph can be changed. */
  onSelect?: (key: string) => void;
  onRemove?: (key: string) => void;
  onConnect?: (from: string, to: string) => void;
}

export function StepGraph(properties: Properties): JSX.Element {
  const { steps, statuses = {}, selected = null, wrong = new Set(), onSelect } = properties;
  const places = placeSteps(steps);
  const x = (column: number): number => 4 + column * (WIDTH_PX + GAP_X_PX);
  const y = (row: number): number => 4 + row * (HEIGHT_PX + GAP_Y_PX);
  const columns = 1 + Math.max(0, ...[...places.values()].map((place) => place.column));
  const rows = 1 + Math.max(0, ...[...places.values()].map((place) => place.row));
  const dragged = useRef<string | null>(null);
  const [line, setLine] = useState<{ from: string; x: number; y: number } | null>(null);
  const endDrag = (key: string | null): void => {
    const from = dragged.current;
    dragged.current = null;
    setLine(null);
    if (from !== null && key !== null && from !== key) properties.onConnect?.(from, key);
  };
  const editing = (key: string): object =>
    onSelect === undefined
      ? {}
      : {
          role: "button",
          // In SVG the names of attributes keep their letters.
          tabindex: 0,
          "aria-pressed": key === selected,
          onClick: () => onSelect(key),
          onKeyDown: (event: KeyboardEvent) => {
            if (event.key === "Enter" || event.key === " ") onSelect(key);
            else if (event.key === "Delete") properties.onRemove?.(key);
            else return;
            event.preventDefault();
          },
          onPointerDown: () => {
            dragged.current = key;
          },
          onPointerUp: () => endDrag(key),
        };
  const path = (x1: number, y1: number, x2: number, y2: number): string => {
    const middle = (x1 + x2) / 2;
    return `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
  };
  const start = line && places.get(line.from);
  return (
    <div
      class={`graph${onSelect ? " editable" : ""}`}
      {...(onSelect ? {} : { tabIndex: 0 })}
      role="group"
      aria-label="Graph of the steps"
    >
      <svg
        width={x(columns) - GAP_X_PX + 8}
        height={y(rows) - GAP_Y_PX + 8}
        role={onSelect ? "group" : "img"}
        aria-label={`Steps: ${Object.keys(steps).join(", ")}`}
        onPointerMove={(event) => {
          if (dragged.current === null) return;
          const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
          setLine({ from: dragged.current, x: event.clientX - left, y: event.clientY - top });
        }}
        onPointerUp={() => endDrag(null)}
        onPointerLeave={() => endDrag(null)}
      >
        {Object.entries(steps).flatMap(([key, { needs }]) =>
          (Array.isArray(needs) ? needs : []).flatMap((need) => {
            const [from, to] = [places.get(need), places.get(key)];
            if (!from || !to) return [];
            const [x1, y1] = [x(from.column) + WIDTH_PX, y(from.row) + HEIGHT_PX / 2];
            const [x2, y2] = [x(to.column), y(to.row) + HEIGHT_PX / 2];
            return [<path d={path(x1, y1, x2, y2)} />];
          }),
        )}
        {line && start && (
          <path
            class="new"
            d={path(x(start.column) + WIDTH_PX, y(start.row) + HEIGHT_PX / 2, line.x, line.y)}
          />
        )}
        {[...places].map(([key, { column, row }]) => (
          <g
            key={key}
            class={`${KINDS[statuses[key] ?? ""] ?? ""}${wrong.has(key) ? " bad" : ""}${key === selected ? " selected" : ""}`}
            transform={`translate(${x(column)},${y(row)})`}
            {...editing(key)}
          >
            {wrong.has(key) && <title>{key} has issues</title>}
            <rect width={WIDTH_PX} height={HEIGHT_PX} rx="8" />
            <text x="10" y="19">
              {key}
            </text>
            {wrong.has(key) && (
              <text x={WIDTH_PX - 18} y="20" class="wrong" aria-hidden="true">
                !
              </text>
            )}
            <text x="10" y="36" class="type">
              {statuses[key]?.replaceAll("_", " ") ?? steps[key]?.type}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}
