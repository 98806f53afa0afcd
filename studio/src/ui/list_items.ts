/** The items of a long list, read page by page and refreshed from the top. No DOM. */

export class ListItems<T> {
  readonly items: T[] = [];
  readonly #idOf: (item: T) => string;
  readonly #known = new Set<string>();
  /** The cursor of the next page; `null` at the end. */
  next: string | null = null;

  constructor(idOf: (item: T) => string) {
    this.#idOf = idOf;
  }

  /** Adds a further page. Costs as much as the page is long, however long the list is. */
  append(page: readonly T[], next: string | null): void {
    for (const item of page) {
      const id = this.#idOf(item);
      if (this.#known.has(id)) continue;
      this.#known.add(id);
      this.items.push(item);
    }
    this.next = next;
  }

  /** Replaces the newest items by a newer first page; what is missing there was deleted. */
  refresh(page: readonly T[], next: string | null): void {
    const last = page.at(-1);
    const place = last === undefined || next === null ? -1 : this.#placeOf(this.#idOf(last));
    if (place < 0) {
      // All is new, or this page is all there is.
      this.items.length = 0;
      this.#known.clear();
      this.append(page, next);
      return;
    }
    for (const item of this.items.splice(0, place + 1, ...page)) {
      this.#known.delete(this.#idOf(item));
    }
    for (const item of page) this.#known.add(this.#idOf(item));
  }

  #placeOf(id: string): number {
    return this.#known.has(id) ? this.items.findIndex((item) => this.#idOf(item) === id) : -1;
  }
}
