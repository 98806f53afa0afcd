/** Tells the pages when to read their lists again. */

import { signal } from "@preact/signals";
import { useEvents } from "./events.ts";

/** Grows whenever something in the organization may have changed. */
export const changes = signal(0);

/** One stream for the whole tab. */
export function useActivity(isLoggedIn: boolean): void {
  useEvents(isLoggedIn ? "/api/v1/activity" : null, {
    changed: () => {
      if (!document.hidden) changes.value += 1;
    },
  });
}

// What has changed while the tab was hidden is read when it is seen again.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) changes.value += 1;
});
