/** A list of any length: pages are loaded and rows drawn only when they come into view. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLoggedOut, problemOf, type Problem } from "../lib/api.ts";
import { session } from "../lib/session.ts";
import { ListItems } from "./list_items.ts";
import { ProblemNote } from "./parts.tsx";

export interface ListPage<T> {
  items: readonly T[];
  next: string | null;
}

interface Properties<T> {
  label: string;
  columns: readonly string[];
  /** Whether the texts of the last column are the longest, not those of the first. */
  isLastLongest?: boolean;
  /** Returns a page; the same function means the same list. */
  load: (cursor: string | null) => Promise<ListPage<T>>;
  idOf: (item: T) => string;
  row: (item: T) => readonly ComponentChildren[];
  empty: ComponentChildren;
  /** Changes whenever the newest items may have changed. */
  version?: number;
}

const ROW_PX = 48;
const SPARE_ROWS = 10;
const MAX_HEIGHT_PX = 620;

export function LongList<T>({
  label,
  columns,
  isLastLongest = false,
  load,
  idOf,
  row,
  empty,
  version = 0,
}: Properties<T>): JSX.Element {
  // The list itself is changed in place: it may have a hundred thousand items.
  const kept = useRef<{ load: typeof load; list: ListItems<T> } | null>(null);
  if (kept.current?.load !== load) kept.current = { load, list: new ListItems(idOf) };
  const { list } = kept.current;
  const { items, next } = list;
  const [, setCount] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [hasLoaded, setLoaded] = useState(false);
  const [topPx, setTop] = useState(0);
  const isLoading = useRef(false);
  const isCurrent = (): boolean => kept.current?.list === list;
  const show = (): void => setCount((count) => count + 1);
  const fail = (error: unknown): void => {
    if (isLoggedOut(error)) session.value = null;
    setProblem(problemOf(error));
  };

  useEffect(() => {
    load(null).then(
      (page) => {
        if (!isCurrent()) return;
        setProblem(null);
        setLoaded(true);
        list.refresh(page.items, page.next);
        show();
      },
      (error: unknown) => isCurrent() && fail(error),
    );
  }, [load, version]);

  const loadMore = (): void => {
    if (next === null || isLoading.current) return;
    isLoading.current = true;
    load(next)
      .then((page) => {
        if (!isCurrent()) return;
        list.append(page.items, page.next);
        show();
      }, fail)
      .finally(() => {
        isLoading.current = false;
      });
  };

  const first = Math.max(0, Math.floor(topPx / ROW_PX) - SPARE_ROWS);
  const last = Math.min(items.length, first + Math.ceil(MAX_HEIGHT_PX / ROW_PX) + 2 * SPARE_ROWS);
  useEffect(() => {
    if (items.length > 0 && last > items.length - SPARE_ROWS) loadMore();
  }, [last, items.length, next]);

  return (
    <div class="stack">
      <ProblemNote problem={problem} />
      {hasLoaded && items.length === 0 ? (
        <div class="card quiet">{empty}</div>
      ) : (
        <div
          class={isLastLongest ? "long-list last-longest" : "long-list"}
          role="table"
          aria-label={label}
          aria-rowcount={next === null ? items.length : -1}
          tabIndex={0}
          style={{ "--further-columns": String(columns.length - 1) }}
          onScroll={(event) => setTop((event.currentTarget as HTMLElement).scrollTop)}
        >
          <div role="row" class="long-list-head">
            {columns.map((name) => (
              <span role="columnheader">{name}</span>
            ))}
          </div>
          <div role="rowgroup" style={{ height: `${items.length * ROW_PX}px` }}>
            {items.slice(first, last).map((item, index) => (
              <div
                role="row"
                key={idOf(item)}
                aria-rowindex={first + index + 1}
                class="long-list-row"
                style={{ transform: `translateY(${(first + index) * ROW_PX}px)` }}
              >
                {row(item).map((cell) => (
                  // Long texts are cut off.
                  <span role="cell" title={typeof cell === "string" ? cell : undefined}>
                    {cell}
                  </span>
                ))}
              </div>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}
