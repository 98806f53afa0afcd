/** The address of the page: `/studio/<page>/<id>` and a query; `/` is the page `home`. */

import { computed, signal } from "@preact/signals";

const PREFIX = "/studio/";

const address = signal(new URL(location.href));
let isBack = false;
window.addEventListener("popstate", () => {
  isBack = true;
  address.value = new URL(location.href);
});

export const place = computed(() => {
  const { pathname, searchParams } = address.value;
  const [page = "", ...rest] = pathname.startsWith(PREFIX)
    ? pathname.slice(PREFIX.length).split("/").map(decodeURIComponent)
    : [];
  return { page: page || "home", ids: rest, query: searchParams };
});

/** The address of a page. */
export function pathTo(page: string, ...ids: string[]): string {
  if (page === "home") return "/";
  return PREFIX + [page, ...ids].map(encodeURIComponent).join("/");
}

/** Whether the browser's buttons led here: the page is as it was left. */
export function hasReturned(): boolean {
  return isBack;
}

/** Goes to a page without loading the document again. */
export function goTo(path: string, { replace = false } = {}): void {
  // As links do that lead to where somebody is.
  const isHere = path === location.pathname + location.search;
  if (!replace) isBack = false;
  if (replace || isHere) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  address.value = new URL(location.href);
  if (!replace) window.scrollTo(0, 0);
}

/** For clicks on links: a plain click stays in the document. */
export function follow(event: MouseEvent): void {
  const link = event.currentTarget as HTMLAnchorElement;
  const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (event.button !== 0 || !isPlain || link.origin !== location.origin) return;
  event.preventDefault();
  goTo(link.pathname + link.search);
}
