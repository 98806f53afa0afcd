/** A list of any length: pages are loaded and rows drawn only when they come into view. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLoggedOut, problemOf, type Problem } from "../lib/api.ts";
import { session } from "../lib/session.ts";
import { ProblemNote } from "./parts.tsx";

export interface ListPage<T> {
  items: readonly T[];
  next: string | null;
}

interface Properties<T> {
  label: string;
  columns: readonly string[];
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
  load,
  idOf,
  row,
  empty,
  version = 0,
}: Properties<T>): JSX.Element {
  const [items, setItems] = useState<readonly T[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [hasLoaded, setLoaded] = useState(false);
  const [topPx, setTop] = useState(0);
  const isLoading = useRef(false);
  const list = useRef(load);
  const fail = (error: unknown): void => {
    if (isLoggedOut(error)) session.value = null;
    setProblem(problemOf(error));
  };

  useEffect(() => {
    list.current = load;
    const isNew = (): boolean => list.current === load;
    load(null).then(
      (page) => {
        if (!isNew()) return;
        setProblem(null);
        setLoaded(true);
        setItems((before) => merge(page.items, before, idOf, version > 0));
        setNext((before) => (version > 0 && items.length > page.items.length ? before : page.next));
      },
      (error: unknown) => isNew() && fail(error),
    );
  }, [load, version]);

  const loadMore = (): void => {
    if (next === null || isLoading.current) return;
    isLoading.current = true;
    load(next)
      .then((page) => {
        if (list.current !== load) return;
        setItems((before) => merge(before, page.items, idOf, true));
        setNext(page.next);
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
          class="long-list"
          role="table"
          aria-label={label}
          aria-rowcount={next === null ? items.length : -1}
          tabIndex={0}
          style={{ "--columns": String(columns.length) }}
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
                  <span role="cell">{cell}</span>
                ))}
              </div>
            ))}
          </div>
        </div>
      )}
    </div>
  );
}

/** The first items, then those of the second list that are not among them. */
function merge<T>(
  first: readonly T[],
  second: readonly T[],
  idOf: (item: T) => string,
  keepsSecond: boolean,
): readonly T[] {
  if (!keepsSecond) return first;
  const known = new Set(first.map(idOf));
  return [...first, ...second.filter((item) => !known.has(idOf(item)))];
}
