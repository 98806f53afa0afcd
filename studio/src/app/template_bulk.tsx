/** Videos of a whole table: its upload, and the bulk that comes of it. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { FramekilnError, request, type ResultOf } from "../lib/api.ts";
import { percent } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Field, Link, Page, ProblemNote, Show, Status } from "../ui/parts.tsx";

const MAX_TABLE_BYTES = 16 << 20;

export function BulkForm({ id, version }: { id: string; version: number }): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const [issues, setIssues] = useState<readonly string[]>([]);
  const send = async (file: File): Promise<void> => {
    setIssues([]);
    if (file.size > MAX_TABLE_BYTES) throw new Error("A table may have at most 16 MiB.");
    const type = file.name.endsWith(".csv")
      ? "text/csv"
      : file.name.endsWith(".jsonl")
        ? "application/jsonl"
        : "application/json";
    const address = `/v2/templates/${encodeURIComponent(id)}/bulk?version=${version}`;
    const response = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": type },
      body: file,
    });
    const body = (await response.json()) as {
      data?: { id: string };
      message?: string;
      error?: string;
      issues?: { row?: number; path?: string; hint?: string; code?: string }[];
    };
    if (!response.ok || !body.data) {
      setIssues(
        (body.issues ?? [])
          .slice(0, 100)
          .map(
            ({ row, path, hint, code }) =>
              `row ${row ?? "?"}: ${path?.split(".").at(-1) ?? ""}: ${hint ?? code ?? ""}`,
          ),
      );
      throw new FramekilnError(body.message ?? "", body.error ?? "", response.status);
    }
    goTo(pathTo("templates", id, body.data.id));
  };
  return (
    <>
      <p class="quiet">
        CSV with the names of the inputs in the first line, JSON Lines, or a JSON array; up to
        10,000 rows. All rows are checked before anything starts.
      </p>
      <Field label="Table">
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".csv,.json,.jsonl"
            disabled={isRunning}
            onChange={(event) => {
              const input = event.currentTarget as HTMLInputElement;
              const [file] = input.files ?? [];
              if (file) run(() => send(file));
              input.value = "";
            }}
          />
        )}
      </Field>
      <ProblemNote problem={problem} />
      {issues.length > 0 && (
        <ul>
          {issues.map((issue) => (
            <li>{issue}</li>
          ))}
        </ul>
      )}
    </>
  );
}

type Row = ResultOf<"get", "/v2/bulks/{bulk_id}/rows">["data"][number];

export function Bulk({ id }: { id: string }): JSX.Element {
  const path = { bulk_id: id };
  // Also of renders: a row has no video any more when its render is deleted.
  const changes = changesOf("bulk", "render");
  const loaded = useLoad(() => request("get", "/v2/bulks/{bulk_id}", { path }), [id, changes]);
  const isRunning = loaded.value?.data.status === "running";
  const action = useAction();
  const load = useCallback(
    async (cursor: string | null) => {
      const page = Number(cursor ?? 1);
      const query = { page, per_page: 100 };
      const found = await request("get", "/v2/bulks/{bulk_id}/rows", { path, query });
      return { items: found.data, next: page < found.meta.last_page ? String(page + 1) : null };
    },
    [id],
  );
  const cancel = async (): Promise<void> => {
    await request("post", "/v2/bulks/{bulk_id}/cancel", { path });
    loaded.reload();
  };
  return (
    <Page
      title={`Bulk ${id}`}
      actions={
        isRunning ? (
          <button type="button" class="danger" onClick={() => action.run(cancel)}>
            Cancel
          </button>
        ) : (
          (loaded.value?.data.counts.ready ?? 0) > 0 && (
            <a class="button" href={`/v2/bulks/${id}/download`} download>
              Download all as ZIP
            </a>
          )
        )
      }
    >
      <ProblemNote problem={action.problem} />
      <Show of={loaded}>
        {({ data }) => (
          <section class="card stack" role="status">
            <label>
              {data.status}: {percent(data.progress)} of {data.row_count} rows
              <progress value={data.progress} max={1} />
            </label>
            <Facts
              of={[
                [
                  "Template",
                  <Link to={pathTo("templates", data.template_id)}>{data.template_id}</Link>,
                ],
                ...Object.entries(data.counts).map(
                  ([name, count]) => [capital(name), count] as const,
                ),
              ]}
            />
          </section>
        )}
      </Show>
      <LongList<Row>
        label="Rows"
        columns={["Video", "Row", "Status", "Error"]}
        isLastLongest
        load={load}
        version={changes}
        idOf={(row) => String(row.row)}
        row={(row) => [
          row.video_id ? <Link to={pathTo("videos", row.video_id)}>{row.video_id}</Link> : "—",
          row.row,
          <Status value={row.status} />,
          row.error ? `${row.error.code}: ${row.error.message}` : "",
        ]}
        empty="There are no rows."
      />
    </Page>
  );
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}
