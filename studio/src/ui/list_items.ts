/** The items of a long list, read page by page and refreshed from the top. No DOM. */

interface Row<T> {
  item: T;
  /** With which its page is read; `null` for the first page. */
  cursor: string | null;
}

export class ListItems<T> {
  readonly #idOf: (item: T) => string;
  readonly #rows: Row<T>[] = [];
  readonly #known = new Set<string>();
  /** Pages that were read since the first one was read last. */
  readonly #fresh = new Set<string>();
  /** The cursor of the next page; `null` at the end. */
  next: string | null = null;
  /** How far it is scrolled. */
  topPx = 0;

  constructor(idOf: (item: T) => string) {
    this.#idOf = idOf;
  }

  get length(): number {
    return this.#rows.length;
  }

  slice(first: number, end: number): T[] {
    return this.#rows.slice(first, end).map(({ item }) => item);
  }

  /** Adds the page of a cursor. Costs as much as the page is long, however long the list is. */
  append(page: readonly T[], next: string | null, cursor: string | null): void {
    for (const item of page) {
      const id = this.#idOf(item);
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      this.#rows.push({ item, cursor });
    }
    if (cursor !== null) this.#fresh.add(cursor);
    this.next = next;
  }

  /**
   * Replaces the newest items by a newer first page; what is missing there was deleted. Those that
   * follow may have changed, too: `takeStale` names their pages.
   */
  refresh(page: readonly T[], next: string | null): void {
    this.#fresh.clear();
    const last = page.at(-1);
    const place = last === undefined || next === null ? -1 : this.#placeOf(this.#idOf(last));
    if (place < 0) {
      // All is new, or this page is all there is.
      this.#rows.length = 0;
      this.#known.clear();
      this.append(page, next, null);
      return;
    }
    const rows = page.map((item) => ({ item, cursor: null }));
    for (const { item } of this.#rows.splice(0, place + 1, ...rows)) {
      this.#known.delete(this.#idOf(item));
    }
    for (const item of page) this.#known.add(this.#idOf(item));
    // New items have pushed these from the first page to the next.
    for (let at = page.length; this.#rows[at]?.cursor === null; at++) this.#rows[at]!.cursor = next;
  }

  /** The cursors of pages with rows from `first` to before `end` that are to be read again. */
  takeStale(first: number, end: number): string[] {
    const found = new Set<string>();
    for (const { cursor } of this.#rows.slice(first, end)) {
      if (cursor !== null && !this.#fresh.has(cursor)) found.add(cursor);
    }
    for (const cursor of found) this.#fresh.add(cursor);
    return [...found];
  }

  /** Replaces items by those with the same id. */
  update(page: readonly T[]): void {
    const newer = new Map(page.map((item) => [this.#idOf(item), item]));
    for (const row of this.#rows) row.item = newer.get(this.#idOf(row.item)) ?? row.item;
  }

  #placeOf(id: string): number {
    return this.#known.has(id) ? this.#rows.findIndex(({ item }) => this.#idOf(item) === id) : -1;
  }
}
