/** Templates: their versions, a form for the data of one video, and a table for many. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { client, request, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Link, Page, ProblemNote, ShowPage, Time } from "../ui/parts.tsx";
import { FramePreview, useFrame } from "./frame_preview.tsx";
import { Bulk, BulkForm } from "./template_bulk.tsx";
import { drawTemplate, EditTemplate, NewTemplate } from "./template_editor.tsx";
import { DataFields, dataOf, inputOf, type DataSchema, type Typed } from "./template_form.tsx";

type Template = ResultOf<"get", "/v2/templates">["data"][number];
type Source = ResultOf<"get", "/v2/templates/{template_id}/versions/{number}">["data"];

export default function Templates(): JSX.Element {
  const [id, part] = place.value.ids;
  if (id === undefined) return <AllTemplates />;
  if (id === "new") return <NewTemplate />;
  if (part === "edit") return <EditTemplate key={id} id={id} />;
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
        empty="There are no templates yet. A template is a film with blanks, such as a name: a form or a table fills them, one video for each row."
      />
    </Page>
  );
}

function OneTemplate({ id }: { id: string }): JSX.Element {
  const asked = Number(place.value.query.get("version")) || null;
  const loaded = useLoad(async () => {
    const number = asked ?? (await client.templates.get(id)).version;
    const [source, schema] = await Promise.all([
      client.templates.version(id, number),
      client.templates.schema(id, { version: number }),
    ]);
    return { source, schema: schema as DataSchema };
  }, [id, asked]);
  const { problem, isRunning, run } = useAction();
  const remove = async (): Promise<void> => {
    if (!confirm("Delete this template? Its videos are kept.")) return;
    await client.templates.delete(id);
    goTo(pathTo("templates"));
  };
  return (
    <ShowPage of={loaded} title="Template">
      {({ source, schema }) => (
        <Page
          title={source.name}
          actions={
            <>
              <Versions id={id} shown={source.version} />
              <Link
                to={`${pathTo("templates", id, "edit")}?version=${source.version}`}
                class="button"
              >
                Edit
              </Link>
              <button type="button" class="danger" disabled={isRunning} onClick={() => run(remove)}>
                Delete
              </button>
            </>
          }
        >
          <ProblemNote problem={problem} />
          <OneVideo key={source.version} id={id} source={source} schema={schema} />
          <section class="card stack">
            <h2>A video for each row of a table</h2>
            <BulkForm id={id} version={source.version} />
          </section>
          <details class="card">
            <summary>Source of version {source.version}</summary>
            <pre tabIndex={0}>
              {JSON.stringify(
                {
                  inputs: source.inputs,
                  default_values: source.default_values,
                  config: source.config,
                },
                null,
                2,
              )}
            </pre>
          </details>
        </Page>
      )}
    </ShowPage>
  );
}

/** Chooses the version that is shown. */
function Versions({ id, shown }: { id: string; shown: number }): JSX.Element {
  const path = { template_id: id };
  const query = { page: 1, per_page: 100 };
  const loaded = useLoad(
    () => request("get", "/v2/templates/{template_id}/versions", { path, query }),
    [id, shown],
  );
  const found = loaded.value?.data ?? [];
  const isListed = found.some(({ version }) => version === shown);
  return (
    <select
      aria-label="Version"
      value={shown}
      onChange={(event) => {
        const { value } = event.currentTarget as HTMLSelectElement;
        goTo(`${pathTo("templates", id)}?version=${value}`);
      }}
    >
      {!isListed && <option value={shown}>Version {shown}</option>}
      {found.map(({ version, created_at }) => (
        <option value={version}>
          Version {version}, {new Date(created_at).toLocaleString()}
        </option>
      ))}
    </select>
  );
}

/** The form of a version, a frame with what is typed, and its video. */
function OneVideo({
  id,
  source,
  schema,
}: {
  id: string;
  source: Source;
  schema: DataSchema;
}): JSX.Element {
  const [typedText, setTypedText, forget] = useDraft(`template.${id}`, "{}");
  const typed = JSON.parse(typedText) as Typed;
  const data = dataOf(schema, typed);
  const drawn = useFrame([JSON.stringify(data)], (atS, signal) =>
    drawTemplate(source, data, { atS, signal }),
  );
  const action = useAction();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    action.run(async () => {
      const video = await client.templates.render(id, data, { version: source.version });
      forget();
      goTo(pathTo("videos", video.id));
    });
  };
  const problem = action.problem ?? drawn.problem;
  const isOfField = problem !== null && (inputOf(problem) ?? "") in (schema.properties ?? {});
  return (
    <div class="split">
      <section class="card">
        <form class="stack" onSubmit={submit}>
          <h2>One video</h2>
          <DataFields
            schema={schema}
            typed={typed}
            problem={problem}
            onChange={(next) => setTypedText(JSON.stringify(next))}
          />
          {!isOfField && <ProblemNote problem={action.problem} />}
          <div>
            <button class="primary" disabled={action.isRunning}>
              Make the video
            </button>
          </div>
        </form>
      </section>
      <FramePreview of={drawn} issues={isOfField ? null : drawn.problem} />
    </div>
  );
}
