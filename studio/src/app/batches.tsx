/** Batches: one pipeline over many files, a few at a time. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { shortId } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Field, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";
import { RunList } from "./run_list.tsx";

type Batch = ResultOf<"get", "/api/v1/pipeline-batches">["batches"][number];

const POLL_MS = 1_000;

export default function Batches(): JSX.Element {
  const [id] = place.value.ids;
  if (id === undefined) return <AllBatches />;
  return id === "new" ? <NewBatch /> : <OneBatch key={id} id={id} />;
}

function endedOf(batch: Batch): number {
  const { succeeded_count, failed_count, filtered_count, cancelled_count } = batch;
  return succeeded_count + failed_count + filtered_count + cancelled_count;
}

function AllBatches(): JSX.Element {
  const load = useCallback(async (cursor: string | null) => {
    const query = { limit: 50, ...(cursor && { cursor }) } as never;
    const page = await request("get", "/api/v1/pipeline-batches", { query });
    return { items: page.batches, next: page.next_cursor ?? null };
  }, []);
  return (
    <Page
      title="Batches"
      actions={
        <Link to={pathTo("batches", "new")} class="button primary">
          New batch
        </Link>
      }
    >
      <LongList<Batch>
        label="Batches"
        columns={["Batch", "Status", "Ended", "Failed", "Created"]}
        load={load}
        version={changesOf("pipeline_run")}
        idOf={(batch) => batch.id}
        row={(batch) => [
          <Link to={pathTo("batches", batch.id)} class="mono">
            {shortId(batch.id)}
          </Link>,
          <Status value={batch.status} />,
          `${endedOf(batch)} of ${batch.run_count}`,
          batch.failed_count,
          <Time iso={batch.created_at} />,
        ]}
        empty="There are no batches yet. A batch runs a pipeline over many files."
      />
    </Page>
  );
}

function NewBatch(): JSX.Element {
  const pipelines = useLoad(
    () => request("get", "/api/v1/pipelines", { query: { limit: 100 } }),
    [],
  );
  const files = useLoad(
    () =>
      request("get", "/api/v1/files", {
        query: { limit: 100, type: "video", status: "ready" } as never,
      }),
    [],
  );
  const { problem, isRunning, run } = useAction();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const runs = form.getAll("file").map((file) => ({ file_id: String(file) }));
    run(async () => {
      const { batch } = await request("post", "/api/v1/pipeline-batches", {
        body: {
          pipeline_id: String(form.get("pipeline")),
          max_in_flight: Number(form.get("max_in_flight")),
          runs,
        } as never,
      });
      goTo(pathTo("batches", batch.id));
    });
  };
  const isAtField = problem?.field === "max_in_flight";
  return (
    <Page title="New batch">
      {!isAtField && <ProblemNote problem={problem} />}
      <form class="card stack" onSubmit={submit}>
        <Field label="Pipeline">
          {(attributes) => (
            <select {...attributes} name="pipeline" required>
              {(pipelines.value?.pipelines ?? []).map(({ id, name }) => (
                <option value={id} selected={id === place.value.query.get("pipeline")}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        {pipelines.value?.pipelines.length === 0 && (
          <p class="quiet">
            There are no pipelines yet. <Link to={pathTo("pipelines", "new")}>Make one.</Link>
          </p>
        )}
        <Field label="Runs at a time" name="max_in_flight" problem={problem}>
          {(attributes) => (
            <input {...attributes} name="max_in_flight" type="number" min="1" defaultValue="10" />
          )}
        </Field>
        <Show of={files}>
          {({ files: found, next_cursor: more }) => (
            <fieldset>
              <legend>Files</legend>
              {more && (
                <p class="quiet">
                  The newest {found.length}; a program can choose from all of them.
                </p>
              )}
              <div class="choices">
                {found.map(({ id, filename }) => (
                  <label key={id}>
                    <input type="checkbox" name="file" value={id} /> {filename}
                  </label>
                ))}
              </div>
              {found.length === 0 && (
                <p class="quiet">
                  There are no files yet. <Link to={pathTo("files")}>Upload some.</Link>
                </p>
              )}
            </fieldset>
          )}
        </Show>
        <div>
          <button class="primary" disabled={isRunning}>
            Start
          </button>
        </div>
      </form>
    </Page>
  );
}

function OneBatch({ id }: { id: string }): JSX.Element {
  const path = { batch_id: id };
  const loaded = useLoad(
    () => request("get", "/api/v1/pipeline-batches/{batch_id}", { path }),
    [id, changesOf("pipeline_run")],
  );
  const [version, setVersion] = useState(0);
  const { problem, isRunning, run } = useAction();
  const isActive = loaded.value?.status === "running";
  useInterval(loaded.reload, isActive ? POLL_MS : null);
  const cancel = async (): Promise<void> => {
    if (!confirm("Cancel all runs of this batch that have not ended?")) return;
    await request("post", "/api/v1/pipeline-batches/{batch_id}/cancel", { path });
    loaded.reload();
    setVersion(version + 1);
  };
  return (
    <Page
      title={`Batch ${shortId(id)}`}
      actions={
        <>
          <Link to={pathTo("batches")} class="button">
            All batches
          </Link>
          <button
            type="button"
            class="danger"
            disabled={!isActive || isRunning}
            onClick={() => run(cancel)}
          >
            Cancel
          </button>
        </>
      }
    >
      <ProblemNote problem={problem} />
      <Show of={loaded}>
        {(batch) => (
          <>
            <div class="card" role="status">
              <label>
                {endedOf(batch)} of {batch.run_count} runs have ended
                <progress value={endedOf(batch)} max={Math.max(1, batch.run_count)} />
              </label>
            </div>
            <section class="card" aria-label="Facts">
              <Facts
                of={[
                  ["Status", <Status value={batch.status} />],
                  [
                    "Pipeline",
                    <Link to={pathTo("pipelines", batch.pipeline_id)}>
                      {shortId(batch.pipeline_id)}, version {batch.pipeline_version}
                    </Link>,
                  ],
                  ["Runs at a time", batch.max_in_flight],
                  ["Succeeded", batch.succeeded_count],
                  ["Failed", batch.failed_count],
                  ["Filtered", batch.filtered_count],
                  ["Cancelled", batch.cancelled_count],
                  ["Created", <Time iso={batch.created_at} />],
                  ["Completed", <Time iso={batch.completed_at} />],
                ]}
              />
            </section>
          </>
        )}
      </Show>
      <RunList filter={{ batch_id: id }} version={changesOf("pipeline_run") + version} />
    </Page>
  );
}
