/** Runs of pipelines: a list, and one as a graph and as a waterfall of its steps. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changes } from "../lib/activity.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { shortId } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Failure, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";
import { StepGraph } from "./step_graph.tsx";
import { barsOf } from "./waterfall.ts";

type Run = ResultOf<"get", "/api/v1/pipeline-runs">["runs"][number];

const POLL_MS = 1_000;

export default function Runs(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllRuns /> : <OneRun key={id} id={id} />;
}

function AllRuns(): JSX.Element {
  const pipeline = place.value.query.get("pipeline");
  const load = useCallback(
    async (cursor: string | null) => {
      const page = await request("get", "/api/v1/pipeline-runs", {
        query: { limit: 50, ...(cursor && { cursor }), ...(pipeline && { pipeline_id: pipeline }) },
      });
      return { items: page.runs, next: page.next_cursor ?? null };
    },
    [pipeline],
  );
  return (
    <Page title="Runs">
      <LongList<Run>
        label="Runs"
        columns={["Run", "Status", "Steps", "Created"]}
        load={load}
        version={changes.value}
        idOf={(run) => run.id}
        row={(run) => [
          <Link to={pathTo("runs", run.id)} class="mono">
            {shortId(run.id)}
          </Link>,
          <Status value={run.status} />,
          `${run.steps.filter((step) => step.status === "succeeded").length} of ${run.steps.length}`,
          <Time iso={run.created_at} />,
        ]}
        empty={
          <>
            There are no runs yet. <Link to={pathTo("pipelines")}>Run a pipeline.</Link>
          </>
        }
      />
    </Page>
  );
}

function OneRun({ id }: { id: string }): JSX.Element {
  const path = { run_id: id };
  const loaded = useLoad(
    () => request("get", "/api/v1/pipeline-runs/{run_id}", { path }),
    [id, changes.value],
  );
  const run = loaded.value;
  const isActive = run !== null && ["pending", "running"].includes(run.status);
  useInterval(loaded.reload, isActive ? POLL_MS : null);
  const pipeline = useLoad(async () => {
    if (run === null) return null;
    return request("get", "/api/v1/pipelines/{pipeline_id}/versions/{number}", {
      path: { pipeline_id: run.pipeline_id, number: run.pipeline_version } as never,
    });
  }, [run?.pipeline_id]);
  const action = useAction();
  const change = (what: "cancel" | "retry") => async (): Promise<void> => {
    await request("post", `/api/v1/pipeline-runs/{run_id}/${what}`, { path });
    loaded.reload();
  };
  return (
    <Page
      title={`Run ${shortId(id)}`}
      actions={
        isActive ? (
          <button type="button" class="danger" onClick={() => action.run(change("cancel"))}>
            Cancel
          </button>
        ) : (
          <button
            type="button"
            disabled={run === null || run.status === "succeeded"}
            onClick={() => action.run(change("retry"))}
          >
            Retry
          </button>
        )
      }
    >
      <ProblemNote problem={action.problem} />
      <Show of={loaded}>
        {(found) => (
          <>
            <Failure of={found.error} />
            {pipeline.value && (
              <StepGraph
                steps={(pipeline.value.definition as { steps: never }).steps}
                statuses={Object.fromEntries(found.steps.map((s) => [s.step_key, s.status]))}
              />
            )}
            <Waterfall run={found} />
            <section class="card" aria-label="Facts">
              <Facts
                of={[
                  ["Status", <Status value={found.status} />],
                  [
                    "File",
                    <Link to={pathTo("files", found.file_id)}>{shortId(found.file_id)}</Link>,
                  ],
                  [
                    "Pipeline",
                    <Link to={pathTo("pipelines", found.pipeline_id)}>
                      {shortId(found.pipeline_id)}, version {found.pipeline_version}
                    </Link>,
                  ],
                  ["Created", <Time iso={found.created_at} />],
                  ["Ended", <Time iso={found.completed_at} />],
                ]}
              />
            </section>
            <Outputs run={found} />
          </>
        )}
      </Show>
    </Page>
  );
}

/** When each step waited and worked; the number is that of the attempt. */
function Waterfall({ run }: { run: Run }): JSX.Element {
  return (
    <section class="card stack" aria-label="Steps over time">
      <h2>Steps over time</h2>
      <div class="waterfall">
        {barsOf(run.steps, Date.now()).map((bar) => (
          <>
            <span class="mono">{bar.key}</span>
            <div class="track" title={bar.title}>
              {bar.wait && (
                <div class="wait" style={{ left: `${bar.wait[0]}%`, width: `${bar.wait[1]}%` }} />
              )}
              {bar.work && (
                <div
                  class={`bar ${bar.kind}`}
                  style={{ left: `${bar.work[0]}%`, width: `${bar.work[1]}%` }}
                >
                  {bar.attempt > 1 ? bar.attempt : ""}
                </div>
              )}
              <span class="visually-hidden">{bar.title}</span>
            </div>
          </>
        ))}
      </div>
    </section>
  );
}

function Outputs({ run }: { run: Run }): JSX.Element {
  const names = run.steps.filter((step) => step.status === "succeeded");
  const [name, setName] = useState<string | null>(null);
  const loaded = useLoad(async () => {
    if (name === null) return null;
    const path = { run_id: run.id, namespace: name };
    return request("get", "/api/v1/pipeline-runs/{run_id}/outputs/{namespace}", { path });
  }, [name]);
  return (
    <section class="card stack" aria-label="Outputs">
      <h2>Outputs</h2>
      <div class="row">
        {names.map((step) => (
          <button
            type="button"
            aria-pressed={step.namespace === name}
            onClick={() => setName(step.namespace)}
          >
            {step.namespace}
          </button>
        ))}
        {names.length === 0 && <span class="quiet">No step has succeeded yet.</span>}
      </div>
      {name !== null && (
        <Show of={loaded}>{(found) => <pre>{JSON.stringify(found, null, 2)}</pre>}</Show>
      )}
    </section>
  );
}
