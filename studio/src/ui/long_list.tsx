/** A list of any length: pages are loaded and rows drawn only when they come into view. */

import type { ComponentChildren, JSX } from "preact";
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isLoggedOut, problemOf, type Problem } from "../lib/api.ts";
import { hasReturned } from "../lib/router.ts";
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
  /** Changes whenever items may have changed. */
  version?: number;
}

const ROW_PX = 48;
const SPARE_ROWS = 10;
const MAX_HEIGHT_PX = 620;

const MAX_LEFT = 20;
/** Lists that were left, by their address: whoever goes back is where they were. */
const left = new Map<string, unknown>();
effect(() => {
  if (session.value === null) left.clear();
});

function leave(name: string, list: unknown): void {
  left.delete(name);
  left.set(name, list);
  for (const old of [...left.keys()].slice(0, -MAX_LEFT)) left.delete(old);
}

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
  const [name] = useState(() => `${label} ${location.pathname}${location.search}`);
  if (kept.current?.load !== load) {
    const before = kept.current === null && hasReturned() ? left.get(name) : undefined;
    kept.current = { load, list: (before as ListItems<T> | undefined) ?? new ListItems(idOf) };
  }
  const { list } = kept.current;
  const { length, next, topPx } = list;
  const [changes, setChanges] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [hasLoaded, setLoaded] = useState(length > 0);
  const isLoading = useRef(false);
  const isCurrent = (): boolean => kept.current?.list === list;
  const show = (): void => setChanges((count) => count + 1);
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
  }, [load, version, attempt]);

  const loadMore = (): void => {
    if (next === null || isLoading.current) return;
    isLoading.current = true;
    load(next)
      .then((page) => {
        // Meanwhile the list may have begun anew.
        if (!isCurrent() || list.next !== next) return;
        list.append(page.items, page.next, next);
        show();
      }, fail)
      .finally(() => {
        isLoading.current = false;
      });
  };

  const scrolled = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    scrolled.current?.scrollTo(0, topPx);
    return () => leave(name, kept.current?.list);
  }, []);

  const first = Math.max(0, Math.floor(topPx / ROW_PX) - SPARE_ROWS);
  const last = Math.min(length, first + Math.ceil(MAX_HEIGHT_PX / ROW_PX) + 2 * SPARE_ROWS);
  useEffect(() => {
    if (length > 0 && last > length - SPARE_ROWS) loadMore();
  }, [last, length, next, attempt]);
  // Of a long list only what somebody looks at is read again.
  useEffect(() => {
    for (const cursor of list.takeStale(first, last)) {
      load(cursor).then((page) => {
        list.update(page.items);
        if (isCurrent()) show();
      }, fail);
    }
  }, [list, first, last, changes]);

  return (
    <div class="stack">
      <ProblemNote problem={problem} retry={() => setAttempt(attempt + 1)} />
      {hasLoaded && length === 0 ? (
        <div class="card quiet">{empty}</div>
      ) : (
        <div
          class={isLastLongest ? "long-list last-longest" : "long-list"}
          ref={scrolled}
          role="table"
          aria-label={label}
          aria-rowcount={next === null ? length : -1}
          tabIndex={0}
          style={{ "--further-columns": String(columns.length - 1) }}
          onScroll={(event) => {
            list.topPx = (event.currentTarget as HTMLElement).scrollTop;
            show();
          }}
        >
          <div role="row" class="long-list-head">
            {columns.map((name) => (
              <span role="columnheader">{name}</span>
            ))}
          </div>
          <div role="rowgroup" style={{ height: `${length * ROW_PX}px` }}>
            {list.slice(first, last).map((item, index) => (
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
