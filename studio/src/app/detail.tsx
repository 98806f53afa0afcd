/** The page of one render, video or file: it follows what is made, and can delete it. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction, type Action } from "../lib/actions.ts";
import { useProgress } from "../lib/events.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo } from "../lib/router.ts";
import { Player } from "../ui/player.tsx";
import { Link, Page, ProblemNote, Progress, Show } from "../ui/parts.tsx";

interface Properties<T> {
  /** The name of its list, in the address and in texts. */
  page: "renders" | "videos" | "files";
  id: string;
  title: (value: T | null) => string;
  load: () => Promise<T>;
  /** Changes whenever it may have changed. */
  version: number;
  /** The word for what is being done to it now; null if nothing is. */
  activity: (value: T) => string | null;
  /** The address of the events that say how far that is. */
  progress: string;
  deletion: { question: string; run: () => Promise<unknown> };
  /** The value is null until it is loaded. */
  actions?: (action: Action, value: T | null) => ComponentChildren;
  children: (value: T, isActive: boolean) => ComponentChildren;
}

export function Detail<T>(properties: Properties<T>): JSX.Element {
  const { page, id, deletion } = properties;
  const loaded = useLoad(properties.load, [id, properties.version]);
  const action = useAction();
  const activity = loaded.value === null ? null : properties.activity(loaded.value);
  // Nothing follows what is not there any more.
  const isActive = activity !== null && loaded.problem === null;
  const fraction = useProgress(isActive ? properties.progress : null, loaded.reload);
  const remove = async (): Promise<void> => {
    if (!confirm(deletion.question)) return;
    await deletion.run();
    goTo(pathTo(page));
  };
  return (
    <Page
      title={properties.title(loaded.value)}
      actions={
        <>
          <Link to={pathTo(page)} class="button">
            All {page}
          </Link>
          {properties.actions?.(action, loaded.value)}
          <button
            type="button"
            class="danger"
            disabled={loaded.value === null || action.isRunning}
            onClick={() => action.run(remove)}
          >
            Delete
          </button>
        </>
      }
    >
      <ProblemNote problem={action.problem} />
      <Show of={loaded}>
        {(value) => (
          <>
            {isActive && <Progress label={activity} fraction={fraction} />}
            {properties.children(value, isActive)}
          </>
        )}
      </Show>
    </Page>
  );
}

/** What a film was made from. Loaded when it is opened: it may be large. */
export function Source({ load }: { load: () => Promise<string> }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const { problem, run } = useAction();
  return (
    <details
      class="card"
      onToggle={(event) => {
        if (!(event.currentTarget as HTMLDetailsElement).open || text !== null) return;
        run(async () => setText(await load()));
      }}
    >
      <summary>Source</summary>
      <ProblemNote problem={problem} />
      <pre>{text ?? "Loading…"}</pre>
    </details>
  );
}

/** The film or picture that was made. */
export function Output({
  from,
  poster,
  isPicture,
}: {
  from: string;
  poster?: string;
  isPicture: boolean;
}): JSX.Element {
  return (
    <section class="card stack" aria-label="Output">
      {isPicture ? (
        <img class="film checker" src={from} alt="The picture that was made" />
      ) : (
        <Player src={from} poster={poster} />
      )}
      <Download from={from} />
    </section>
  );
}

/** Where the film is downloaded. */
export function Download({
  from,
  label = "Download",
}: {
  from: string;
  label?: string;
}): JSX.Element {
  return (
    <div class="row">
      <a class="button" href={from} download>
        {label}
      </a>
    </div>
  );
}
