/** Pipelines: their steps as a graph and as text, and runs of them. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Editor } from "../ui/editor.tsx";
import { LongList } from "../ui/long_list.tsx";
import { Field, Link, Page, ProblemNote, ShowPage, Time } from "../ui/parts.tsx";
import { readDefinition, writeDefinition } from "./definition_edit.ts";
import { DEFINITION_SCHEMA, GraphEditor, useIssues } from "./graph_editor.tsx";
import { markIssues } from "./shared_text.ts";

type Pipeline = ResultOf<"get", "/api/v1/pipelines">["pipelines"][number];

const FIRST_DEFINITION = `{
  "steps": {
    "facts": {"type": "probe"},
    "scenes": {"type": "detect_scenes", "needs": ["facts"]},
    "words": {"type": "transcribe", "needs": ["facts"]},
    "check": {"type": "review", "needs": ["words", "scenes"], "with": {"instructions": "May it be shown?"}},
    "out": {"type": "publish", "needs": ["check"]}
  }
}
`;

export default function Pipelines(): JSX.Element {
  const [id] = place.value.ids;
  if (id === undefined) return <AllPipelines />;
  return id === "new" ? <NewPipeline /> : <OnePipeline key={id} id={id} />;
}

function AllPipelines(): JSX.Element {
  const load = useCallback(async (cursor: string | null) => {
    const page = await request("get", "/api/v1/pipelines", {
      query: { limit: 50, ...(cursor && { cursor }) },
    });
    return { items: page.pipelines, next: page.next_cursor ?? null };
  }, []);
  return (
    <Page
      title="Pipelines"
      actions={
        <Link to={pathTo("pipelines", "new")} class="button primary">
          New pipeline
        </Link>
      }
    >
      <LongList<Pipeline>
        label="Pipelines"
        columns={["Name", "Version", "Created"]}
        load={load}
        idOf={(pipeline) => pipeline.id}
        row={(pipeline) => [
          <Link to={pathTo("pipelines", pipeline.id)}>{pipeline.name}</Link>,
          pipeline.latest_version,
          <Time iso={pipeline.created_at} />,
        ]}
        empty="There are no pipelines yet. A pipeline is a list of steps for a file: transcribe it, find its scenes, have somebody check it, publish it."
      />
    </Page>
  );
}

/** The graph and the text of a definition: both change the same. */
function DefinitionEditor({
  text,
  onChange,
}: {
  text: string;
  onChange: (text: string) => void;
}): JSX.Element {
  const issues = useIssues(text);
  const definition = readDefinition(text);
  return (
    <>
      {definition && (
        <GraphEditor
          definition={definition}
          issues={issues}
          onChange={(changed) => onChange(writeDefinition(changed))}
        />
      )}
      <Editor
        label="Definition"
        language="json"
        schema={DEFINITION_SCHEMA}
        value={text}
        marks={markIssues(issues, text)}
        onChange={onChange}
      />
    </>
  );
}

function NewPipeline(): JSX.Element {
  const [name, setName, forgetName] = useDraft("pipeline.name", "");
  const [text, setText, forgetText] = useDraft("pipeline.definition", FIRST_DEFINITION);
  const { problem, isRunning, run } = useAction();
  const save = async (): Promise<void> => {
    const body = { name, definition: JSON.parse(text) } as never;
    const made = await request("post", "/api/v1/pipelines", { body });
    forgetName();
    forgetText();
    goTo(pathTo("pipelines", made.id));
  };
  return (
    <Page
      title="New pipeline"
      actions={
        <button type="button" class="primary" disabled={isRunning} onClick={() => run(save)}>
          Save
        </button>
      }
    >
      {problem?.field !== "name" && <ProblemNote problem={problem} />}
      <Field label="Name" name="name" problem={problem}>
        {(attributes) => (
          <input
            {...attributes}
            value={name}
            onInput={(event) => setName((event.currentTarget as HTMLInputElement).value)}
          />
        )}
      </Field>
      <DefinitionEditor text={text} onChange={setText} />
    </Page>
  );
}

/** Files over which a run can work: the ready ones, and those for which it waits. */
async function findRunnable() {
  const lists = await Promise.all(
    (["ready", "processing", "receiving"] as const).map((status) =>
      request("get", "/api/v1/files", { query: { limit: 100, type: "video", status } }),
    ),
  );
  return lists.flatMap(({ files }) => files);
}

function OnePipeline({ id }: { id: string }): JSX.Element {
  const path = { pipeline_id: id };
  const loaded = useLoad(() => request("get", "/api/v1/pipelines/{pipeline_id}", { path }), [id]);
  const files = useLoad(findRunnable, [changesOf("file")]);
  const [text, setText, forget] = useDraft(
    `pipeline.${id}`,
    loaded.value ? JSON.stringify(loaded.value.version.definition, null, 2) : "",
  );
  const action = useAction();
  const start = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const body = { pipeline_id: id, file_id: String(form.get("file")) };
    action.run(async () => {
      const run = await request("post", "/api/v1/pipeline-runs", { body });
      goTo(pathTo("runs", run.id));
    });
  };
  const saveVersion = async (): Promise<void> => {
    const body = { definition: JSON.parse(text) } as never;
    await request("post", "/api/v1/pipelines/{pipeline_id}/versions", { path, body });
    forget();
    loaded.reload();
  };
  return (
    <ShowPage of={loaded} title="Pipeline">
      {(pipeline) => {
        const shown = text || JSON.stringify(pipeline.version.definition, null, 2);
        return (
          <Page
            title={pipeline.name}
            actions={
              <>
                <Link to={`${pathTo("batches", "new")}?pipeline=${id}`} class="button">
                  Run it over many files
                </Link>
                <Link to={`${pathTo("runs")}?pipeline=${id}`} class="button">
                  Runs of this pipeline
                </Link>
              </>
            }
          >
            <ProblemNote problem={action.problem} />
            <form class="card row fields" onSubmit={start}>
              <Field
                label="Run it over a file"
                hint={
                  files.value?.length === 0
                    ? "There are no files that are ready: upload one first."
                    : "The newest that are ready, or will be."
                }
              >
                {(attributes) => (
                  <select {...attributes} name="file" required>
                    {(files.value ?? []).map(({ id: file, filename, status }) => (
                      <option key={file} value={file}>
                        {filename}
                        {status === "ready" ? "" : `, ${status}`}
                      </option>
                    ))}
                  </select>
                )}
              </Field>
              <button class="primary" disabled={action.isRunning || !files.value?.length}>
                Run
              </button>
            </form>
            <DefinitionEditor text={shown} onChange={setText} />
            <div class="row">
              <button
                type="button"
                disabled={action.isRunning}
                onClick={() => action.run(saveVersion)}
              >
                Save as version {pipeline.latest_version + 1}
              </button>
            </div>
          </Page>
        );
      }}
    </ShowPage>
  );
}
