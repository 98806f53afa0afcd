/** Runs of pipelines, newest first. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { request, type ResultOf } from "../lib/api.ts";
import { shortId } from "../lib/format.ts";
import { pathTo } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Link, Status, Time } from "../ui/parts.tsx";

type Run = ResultOf<"get", "/api/v1/pipeline-runs">["runs"][number];

export function RunList({
  filter,
  version,
}: {
  filter: { pipeline_id?: string; batch_id?: string };
  version: number;
}): JSX.Element {
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { limit: 50, ...filter, ...(cursor && { cursor }) };
      const page = await request("get", "/api/v1/pipeline-runs", { query });
      return { items: page.runs, next: page.next_cursor ?? null };
    },
    [filter.pipeline_id, filter.batch_id],
  );
  return (
    <LongList<Run>
      label="Runs"
      columns={["Run", "Status", "Steps", "Created"]}
      load={load}
      version={version}
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
  );
}
