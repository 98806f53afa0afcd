/** Runs of pipelines: a list, and one as a graph and as a waterfall of its steps. */

import type { JSX } from "preact";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { shortId } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Facts, Failure, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";
import { RunList } from "./run_list.tsx";
import { Outputs } from "./run_outputs.tsx";
import { StepGraph } from "./step_graph.tsx";
import { barsOf, type AttemptTimes } from "./waterfall.ts";

type Run = ResultOf<"get", "/api/v1/pipeline-runs/{run_id}">;

const POLL_MS = 1_000;

export default function Runs(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllRuns /> : <OneRun key={id} id={id} />;
}

function AllRuns(): JSX.Element {
  const pipeline = place.value.query.get("pipeline");
  return (
    <Page title="Runs">
      <RunList
        filter={pipeline ? { pipeline_id: pipeline } : {}}
        version={changesOf("pipeline_run")}
      />
    </Page>
  );
}

function OneRun({ id }: { id: string }): JSX.Element {
  const path = { run_id: id };
  const loaded = useLoad(
    () => request("get", "/api/v1/pipeline-runs/{run_id}", { path }),
    [id, changesOf("pipeline_run")],
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
  const attempts = useLoad(
    () => request("get", "/api/v1/pipeline-runs/{run_id}/attempts", { path }),
    [id, run?.status, run?.steps.map((step) => step.attempt).join()],
  );
  const again = async (): Promise<void> => {
    const { pipeline_id, pipeline_version: version, file_id } = run!;
    const made = await request("post", "/api/v1/pipeline-runs", {
      body: { pipeline_id, version, file_id },
    });
    goTo(pathTo("runs", made.id));
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
          <>
            <button
              type="button"
              disabled={run === null || !["failed", "cancelled"].includes(run.status)}
              onClick={() => action.run(change("retry"))}
            >
              Retry
            </button>
            <button
              type="button"
              disabled={run === null || action.isRunning}
              onClick={() => action.run(again)}
            >
              Run again
            </button>
          </>
        )
      }
    >
      <ProblemNote problem={action.problem} />
      <Show of={loaded}>
        {(found) => (
          <>
            <Failure of={found.error} />
            <OpenReviews run={found} />
            {pipeline.value && (
              <StepGraph
                steps={(pipeline.value.definition as { steps: never }).steps}
                statuses={Object.fromEntries(found.steps.map((s) => [s.step_key, s.status]))}
              />
            )}
            <Waterfall run={found} attempts={attempts.value?.attempts ?? []} />
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

/** Where somebody decides what the run waits for. */
function OpenReviews({ run }: { run: Run }): JSX.Element | null {
  const waiting = run.steps.filter(({ status }) => status === "waiting_review");
  const keys = waiting.map(({ step_key }) => step_key).join();
  const loaded = useLoad(async () => {
    if (keys === "") return [];
    const query = { run_id: run.id, status: "pending", limit: 100 } as const;
    return (await request("get", "/api/v1/pipeline-reviews", { query })).reviews;
  }, [run.id, keys]);
  if (!loaded.value?.length) return <ProblemNote problem={loaded.problem} retry={loaded.reload} />;
  return (
    <div class="note row" role="status">
      This run waits for a decision:
      {loaded.value.map(({ id, step_key }) => (
        <Link key={id} to={pathTo("reviews", id)}>
          review of {step_key}
        </Link>
      ))}
    </div>
  );
}

/** When each step waited and worked; the number is that of the attempt. */
function Waterfall({
  run,
  attempts,
}: {
  run: Run;
  attempts: readonly AttemptTimes[];
}): JSX.Element {
  return (
    <section class="card stack" aria-label="Steps over time">
      <h2>Steps over time</h2>
      <div class="waterfall">
        {barsOf(run.steps, Date.now(), attempts).map((row) => (
          <>
            <span class="mono">{row.key}</span>
            <div class="track" title={row.title}>
              {row.bars.map(({ kind, span: [left, width], title, number }) => (
                <div
                  class={kind === "wait" ? "wait" : `bar ${kind}`}
                  style={{ left: `${left}%`, width: `${width}%` }}
                  title={title}
                >
                  {kind !== "wait" && number > 1 ? number : ""}
                </div>
              ))}
              <span class="visually-hidden">{row.title}</span>
            </div>
          </>
        ))}
      </div>
    </section>
  );
}
