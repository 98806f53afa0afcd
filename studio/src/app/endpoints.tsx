/** Endpoints: HTTP services of the organization that run steps. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useFormDraft } from "../lib/drafts.ts";
import { LongList } from "../ui/long_list.tsx";
import { Copy, Field, Page, ProblemNote, ShownOnce, Status, Time, Whole } from "../ui/parts.tsx";

type Endpoint = ResultOf<"get", "/api/v1/pipeline-endpoints">["endpoints"][number];

const NUMBERS = [
  ["timeout_ms", "Time for an answer, in ms", 30_000],
  ["callback_timeout_ms", "Time for a callback, in ms", 3_600_000],
  ["max_concurrency", "Requests at a time", 8],
] as const;

export default function Endpoints(): JSX.Element {
  const [version, setVersion] = useState(0);
  const action = useAction();
  const load = useCallback(async (cursor: string | null) => {
    const query = { limit: 50, include_archived: true, ...(cursor && { cursor }) } as never;
    const page = await request("get", "/api/v1/pipeline-endpoints", { query });
    return { items: page.endpoints, next: page.next_cursor ?? null };
  }, []);
  const archive = (endpoint: Endpoint): void => {
    if (!confirm(`Send nothing to ${endpoint.url} any more? Runs that reach it fail.`)) return;
    action.run(async () => {
      await request("post", "/api/v1/pipeline-endpoints/{endpoint_id}/archive", {
        path: { endpoint_id: endpoint.id },
      });
      setVersion(version + 1);
    });
  };
  return (
    <Page title="Endpoints">
      <NewEndpoint onMade={() => setVersion(version + 1)} />
      <ProblemNote problem={action.problem} />
      <LongList<Endpoint>
        label="Endpoints"
        columns={["Address", "Id", "State", "Created", ""]}
        load={load}
        version={version}
        idOf={(endpoint) => endpoint.id}
        row={(endpoint) => [
          <Whole text={endpoint.url} />,
          <Copy text={endpoint.id} label="Copy id" />,
          <Status value={endpoint.archived_at ? "archived" : "active"} />,
          <Time iso={endpoint.created_at} />,
          endpoint.archived_at ? null : (
            <button type="button" disabled={action.isRunning} onClick={() => archive(endpoint)}>
              Archive
            </button>
          ),
        ]}
        empty="There are no endpoints yet. An endpoint is a server of your own that does the work of a pipeline step."
      />
    </Page>
  );
}

function NewEndpoint({ onMade }: { onMade: () => void }): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const draft = useFormDraft("endpoint");
  const [secret, setSecret] = useState<string | null>(null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const numbers = NUMBERS.map(([name]) => [name, Number(fields.get(name))]);
    run(async () => {
      const body = { url: String(fields.get("url")), ...Object.fromEntries(numbers) } as never;
      const made = await request("post", "/api/v1/pipeline-endpoints", { body });
      setSecret(made.signing_secret);
      form.reset();
      onMade();
    });
  };
  const names: readonly string[] = ["url", ...NUMBERS.map(([name]) => name)];
  return (
    <form ref={draft} class="card stack" onSubmit={submit}>
      <h2>New endpoint</h2>
      {!names.includes(problem?.field ?? "") && <ProblemNote problem={problem} />}
      <Field label="Address (https)" name="url" problem={problem}>
        {(attributes) => <input {...attributes} name="url" type="url" required />}
      </Field>
      <div class="option-fields">
        {NUMBERS.map(([name, label, initial]) => (
          <Field key={name} label={label} name={name} problem={problem}>
            {(attributes) => (
              <input {...attributes} name={name} type="number" required defaultValue={initial} />
            )}
          </Field>
        ))}
      </div>
      <div>
        <button class="primary" disabled={isRunning}>
          Add
        </button>
      </div>
      <ShownOnce name="The secret that signs requests to it" text={secret} />
    </form>
  );
}
