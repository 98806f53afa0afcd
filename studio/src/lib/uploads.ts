/** The uploads of this tab: they go on while other pages are shown, and warn before it is closed. */

import { computed, effect, signal } from "@preact/signals";
import { client, problemOf } from "./api.ts";
import { store } from "./drafts.ts";
import { session } from "./session.ts";

export interface Upload {
  key: string;
  name: string;
  fraction: number;
  isDone: boolean;
  problem: string;
}

export const uploads = signal<readonly Upload[]>([]);

const areRunning = computed(() => uploads.value.some((each) => !each.isDone && !each.problem));

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

effect(() => {
  if (areRunning.value) window.addEventListener("beforeunload", warn);
  else window.removeEventListener("beforeunload", warn);
});

// They are nobody else's.
effect(() => {
  if (session.value === null) uploads.value = [];
});

/** After a break the same file goes on where it stopped. */
export function upload(file: File): void {
  const { name } = file;
  const key = `framekiln.upload.${name}.${file.size}.${file.lastModified}`;
  const update = (change: Partial<Upload>): void => {
    uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...change } : each));
  };
  const others = uploads.value.filter((each) => each.key !== key);
  uploads.value = [...others, { key, name, fraction: 0, isDone: false, problem: "" }];
  const begun = localStorage.getItem(key);
  client.files
    .upload(file, {
      ...(begun && { fileId: begun }),
      onBegun: (id) => store(key, id),
      onProgress: (done, total) => update({ fraction: total ? done / total : 0 }),
    })
    .then(
      () => {
        localStorage.removeItem(key);
        update({ fraction: 1, isDone: true });
      },
      (error: unknown) => {
        // A file that was deleted meanwhile begins anew with the next attempt.
        const { message, code } = problemOf(error);
        if (code === "file_not_found") localStorage.removeItem(key);
        update({ problem: message });
      },
    );
}
