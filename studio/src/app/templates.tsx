/** Templates: a form for their data, and videos of a whole table. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { client, FramekilnError, request, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { percent } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Editor } from "../ui/editor.tsx";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Field, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";

type Template = ResultOf<"get", "/v2/templates">["data"][number];
type Schema = {
  properties?: Record<string, InputSchema>;
  required?: string[];
  examples?: Record<string, unknown>[];
};
type InputSchema = {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  format?: string;
};

const POLL_MS = 1_000;
const MAX_TABLE_BYTES = 32 << 20;

export default function Templates(): JSX.Element {
  const [id, part] = place.value.ids;
  if (id === undefined) return <AllTemplates />;
  if (id === "new") return <NewTemplate />;
  return part === undefined ? <OneTemplate key={id} id={id} /> : <Bulk key={part} id={part} />;
}

function AllTemplates(): JSX.Element {
  const load = useCallback(async (cursor: string | null) => {
    const page = Number(cursor ?? 1);
    const found = await request("get", "/v2/templates", { query: { page, per_page: 50 } });
    return { items: found.data, next: page < found.meta.last_page ? String(page + 1) : null };
  }, []);
  return (
    <Page
      title="Templates"
      actions={
        <Link to={pathTo("templates", "new")} class="button primary">
          New template
        </Link>
      }
    >
      <LongList<Template>
        label="Templates"
        columns={["Name", "Id", "Version", "Created"]}
        load={load}
        version={changesOf("render")}
        idOf={(template) => template.id}
        row={(template) => [
          <Link to={pathTo("templates", template.id)}>{template.name}</Link>,
          <span class="mono">{template.id}</span>,
          template.version,
          <Time iso={template.created_at} />,
        ]}
        empty="There are no templates yet: a template is a layer config with named inputs."
      />
    </Page>
  );
}

const FIRST_TEMPLATE = `{
  "name": "Greeting",
  "inputs": {"name": "required|string|max:30"},
  "default_values": {"name": "Ada"},
  "config": {
    "dimensions": {"width": 1280, "height": 720},
    "duration": 4,
    "backgroundColor": "#10141f",
    "layers": [
      {"id": "title", "type": "text", "text": {"text": "Hello {{ name }}", "color": "#ff9a52", "fontSize": 96},
       "position": {"x": "center", "y": "center"}}
    ]
  }
}
`;

function NewTemplate(): JSX.Element {
  const [text, setText, forget] = useDraft("template", FIRST_TEMPLATE);
  const { problem, isRunning, run } = useAction();
  const save = async (): Promise<void> => {
    const made = await client.templates.create(JSON.parse(text));
    forget();
    goTo(pathTo("templates", made.data.id));
  };
  return (
    <Page
      title="New template"
      actions={
        <button type="button" class="primary" disabled={isRunning} onClick={() => run(save)}>
          Save
        </button>
      }
    >
      <ProblemNote problem={problem} />
      <Editor label="Template" language="json" value={text} onChange={setText} />
    </Page>
  );
}

function OneTemplate({ id }: { id: string }): JSX.Element {
  const path = { template_id: id };
  const loaded = useLoad(() => request("get", "/v2/templates/{template_id}", { path }), [id]);
  const schema = useLoad(
    () => request("get", "/v2/templates/{template_id}/schema", { path }) as Promise<Schema>,
    [id],
  );
  const { problem, isRunning, run } = useAction();
  const remove = async (): Promise<void> => {
    if (!confirm("Delete this template? Its videos are kept.")) return;
    await client.templates.delete(id);
    goTo(pathTo("templates"));
  };
  return (
    <Show of={loaded}>
      {({ data }) => (
        <Page
          title={data.name}
          actions={
            <button type="button" class="danger" disabled={isRunning} onClick={() => run(remove)}>
              Delete
            </button>
          }
        >
          <ProblemNote problem={problem} />
          <div class="split">
            <section class="card stack">
              <h2>One video</h2>
              <Show of={schema}>{(found) => <DataForm id={id} schema={found} />}</Show>
            </section>
            <section class="card stack">
              <h2>A video for each row of a table</h2>
              <BulkForm id={id} />
            </section>
          </div>
          <details class="card">
            <summary>Config (version {data.version})</summary>
            <pre>{JSON.stringify(data.parsed_config, null, 2)}</pre>
          </details>
        </Page>
      )}
    </Show>
  );
}

/** A field for each input, by its schema. */
function DataForm({ id, schema }: { id: string; schema: Schema }): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const inputs = Object.entries(schema.properties ?? {});
  const example = schema.examples?.[0] ?? {};
  const [draft, setDraft, forget] = useDraft(`template.${id}`, "{}");
  const typed = JSON.parse(draft) as Record<string, string>;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    run(async () => {
      const data = Object.fromEntries(
        inputs.flatMap(([name, input]) => {
          const text = typed[name] ?? textOf(input.default ?? example[name]);
          return text === "" ? [] : [[name, valueOf(text, input)]];
        }),
      );
      const video = await client.templates.render(id, data);
      forget();
      goTo(pathTo("videos", video.id));
    });
  };
  // The service names a field of the request: `data.name`.
  const shown = problem && { ...problem, field: problem.field?.replace(/^data\./, "") ?? null };
  const hasField = inputs.some(([name]) => name === shown?.field);
  return (
    <form class="stack" onSubmit={submit}>
      {!hasField && <ProblemNote problem={problem} />}
      {inputs.map(([name, input]) => (
        <Field
          label={schema.required?.includes(name) ? `${name} (required)` : name}
          name={name}
          problem={shown}
          {...(input.description && { hint: input.description })}
        >
          {(attributes) => {
            const value = typed[name] ?? textOf(input.default ?? example[name]);
            const change = (event: Event): void => {
              const { value: next } = event.currentTarget as HTMLInputElement;
              setDraft(JSON.stringify({ ...typed, [name]: next }));
            };
            return input.enum ? (
              <select {...attributes} value={value} onChange={change}>
                {input.enum.map((option) => (
                  <option value={textOf(option)}>{textOf(option)}</option>
                ))}
              </select>
            ) : (
              <input {...attributes} name={name} value={value} onInput={change} />
            );
          }}
        </Field>
      ))}
      {inputs.length === 0 && <p class="quiet">This template has no inputs.</p>}
      <button class="primary" disabled={isRunning}>
        Make the video
      </button>
    </form>
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function valueOf(text: string, { type }: InputSchema): unknown {
  const types = Array.isArray(type) ? type : [type];
  if (types.includes("string") || type === undefined) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function BulkForm({ id }: { id: string }): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const [issues, setIssues] = useState<readonly string[]>([]);
  const send = async (file: File): Promise<void> => {
    setIssues([]);
    if (file.size > MAX_TABLE_BYTES) throw new Error("A table may have at most 32 MiB.");
    const type = file.name.endsWith(".csv")
      ? "text/csv"
      : file.name.endsWith(".jsonl")
        ? "application/jsonl"
        : "application/json";
    const response = await fetch(`/v2/templates/${encodeURIComponent(id)}/bulk`, {
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

function Bulk({ id }: { id: string }): JSX.Element {
  const path = { bulk_id: id };
  const loaded = useLoad(() => request("get", "/v2/bulks/{bulk_id}", { path }), [id]);
  const isRunning = loaded.value?.data.status === "running";
  const [version, setVersion] = useState(0);
  useInterval(
    () => {
      loaded.reload();
      setVersion(version + 1);
    },
    isRunning ? POLL_MS : null,
  );
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
          <a class="button" href={`/v2/bulks/${id}/download`} download>
            Download all as ZIP
          </a>
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
            <Facts of={Object.entries(data.counts).map(([name, count]) => [name, count])} />
          </section>
        )}
      </Show>
      <LongList<Row>
        label="Rows"
        columns={["Row", "Status", "Video", "Error"]}
        load={load}
        version={version}
        idOf={(row) => String(row.row)}
        row={(row) => [
          row.row,
          <Status value={row.status} />,
          row.video_id ? <Link to={pathTo("videos", row.video_id)}>{row.video_id}</Link> : "—",
          row.error ? `${row.error.code}: ${row.error.message}` : "",
        ]}
        empty="There are no rows."
      />
    </Page>
  );
}
