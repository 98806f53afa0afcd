/** Write a template, new or the next version of one, and see it with data. */

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { client, type Problem } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { ShowPage } from "../ui/parts.tsx";
import { EditorPage } from "./editor_page.tsx";
import { drawConfig, useFrame, type Frame } from "./frame_preview.tsx";
import { DataFields, dataOf, inputOf, type DataSchema, type Typed } from "./template_form.tsx";
import { describeWarning } from "./videos.tsx";

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
const EDITOR = { label: "Template", language: "json", schema: "/schemas/template.json" } as const;
/** The parts of a template; other paths in messages are of the filled config. */
const PARTS = ["name", "config", "inputs", "default_values", "data"];

/** What the service needs to check a template. */
export interface Content {
  config: unknown;
  inputs: unknown;
  default_values: unknown;
}

export function NewTemplate(): JSX.Element {
  return <TemplateEditor title="New template" draft="template" start={FIRST_TEMPLATE} id={null} />;
}

export function EditTemplate({ id }: { id: string }): JSX.Element {
  const asked = Number(place.value.query.get("version")) || null;
  const loaded = useLoad(async () => {
    const number = asked ?? (await client.templates.get(id)).version;
    return client.templates.version(id, number);
  }, [id, asked]);
  return (
    <ShowPage of={loaded} title="Edit a template">
      {({ version, name, inputs, default_values, config }) => (
        <TemplateEditor
          key={version}
          title={`Edit ${name}`}
          draft={`template.${id}.${version}`}
          start={`${JSON.stringify({ name, inputs, default_values, config }, null, 2)}\n`}
          id={id}
        />
      )}
    </ShowPage>
  );
}

function TemplateEditor({
  title,
  draft,
  start,
  id,
}: {
  title: string;
  draft: string;
  start: string;
  id: string | null;
}): JSX.Element {
  const [text, setText, forget] = useDraft(draft, start);
  const [typedText, setTypedText, forgetTyped] = useDraft(`${draft}.data`, "{}");
  const typed = JSON.parse(typedText) as Typed;
  const [schema, setSchema] = useState<DataSchema>({});
  const known = useRef<{ text: string; schema: DataSchema } | null>(null);
  const drawn = useFrame([text, typedText], async (atS, signal) => {
    const content = JSON.parse(text) as Content;
    if (known.current?.text !== text) {
      known.current = { text, schema: await schemaOf(content) };
      setSchema(known.current.schema);
    }
    return drawTemplate(content, dataOf(known.current.schema, typed), { atS, signal });
  });
  const { problem } = drawn;
  const action = useAction();
  const startAgain = (): void => {
    forget();
    forgetTyped();
  };
  const save = async (): Promise<void> => {
    const body = JSON.parse(text);
    const made = await (id === null
      ? client.templates.create(body)
      : client.templates.update(id, body));
    startAgain();
    goTo(pathTo("templates", made.data.id));
  };
  return (
    <EditorPage
      title={title}
      startAgain={startAgain}
      main={{ label: id === null ? "Save" : "Save as a new version", action, work: save }}
      refused={action.problem && inTemplate(action.problem)}
      editor={EDITOR}
      text={text}
      onText={setText}
      drawn={drawn}
      wrong={problem && inputOf(problem) === null ? inTemplate(problem) : null}
    >
      <DataFields
        schema={schema}
        typed={typed}
        problem={problem}
        onChange={(next) => setTypedText(JSON.stringify(next))}
      />
    </EditorPage>
  );
}

async function schemaOf({ config, inputs, default_values }: Content): Promise<DataSchema> {
  const checked = await client.templates.check({ config, inputs, default_values } as never);
  return checked.data.schema as DataSchema;
}

/** A frame of a template with data, whether it is stored or not. */
export async function drawTemplate(
  { config, inputs, default_values }: Content,
  data: Record<string, unknown>,
  { atS, signal }: { atS: number; signal: AbortSignal },
): Promise<Frame> {
  const body = { config, inputs, default_values, data } as never;
  const filled = await client.templates.check(body);
  const frame = await drawConfig(filled.data.parsed_config, atS, signal);
  const warnings = (filled.warnings ?? []).map(describeWarning);
  return { ...frame, warnings: [...new Set([...warnings, ...frame.warnings])] };
}

/** The same problem, with paths of the template. */
function inTemplate(problem: Problem): Problem {
  const whole = (path: string): string =>
    path === "" || PARTS.includes(path.split(".")[0] ?? "") ? path : `config.${path}`;
  const issues = problem.issues.map((each) => ({ ...each, path: whole(each.path) }));
  return { ...problem, field: problem.field && whole(problem.field), issues };
}
