/** Tells the pages when to read their lists again. */

import { signal } from "@preact/signals";
import { useEvents } from "./events.ts";
import { readSession } from "./session.ts";

/** What the service names in its events: the tables whose rows have changed. */
export type Kind =
  "render" | "bulk" | "file" | "transcription" | "transcript_correction" | "pipeline_run";

/** Many dashboards get the same event at once; they read their lists one after the other. */
const JITTER_MS = 300;

const counts = signal<Readonly<Record<string, number>>>({ all: 0 });

/** Grows whenever something of these kinds may have changed; without kinds, anything. */
export function changesOf(...kinds: Kind[]): number {
  const { all = 0, ...rest } = counts.value;
  const counted = kinds.length > 0 ? kinds.map((kind) => rest[kind] ?? 0) : Object.values(rest);
  return counted.reduce((sum, count) => sum + count, all);
}

function note(kinds: readonly string[]): void {
  const next = { ...counts.value };
  for (const kind of kinds) next[kind] = (next[kind] ?? 0) + 1;
  counts.value = next;
}

/** One stream for the whole tab. While it is hidden it follows nothing, and reads all afterwards. */
export function useActivity(isLoggedIn: boolean): void {
  const changed = (data: string): void => {
    const { kinds } = JSON.parse(data) as { kinds?: string[] };
    // The first event of a stream names none: nobody knows what was missed.
    setTimeout(() => note(kinds ?? ["all"]), Math.random() * JITTER_MS);
  };
  // Most often, because the session has ended.
  useEvents(isLoggedIn ? "/api/v1/activity" : null, { changed }, () => void readSession());
}
