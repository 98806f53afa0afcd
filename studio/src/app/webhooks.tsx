/** Webhooks: add them, see what was delivered, send it again, send a sample. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useFormDraft } from "../lib/drafts.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import {
  Facts,
  Field,
  Link,
  Page,
  ProblemNote,
  Show,
  ShownOnce,
  Status,
  Table,
  Time,
  Whole,
} from "../ui/parts.tsx";

const POLL_MS = 5_000;

type Delivery = ResultOf<"get", "/api/v1/webhooks/{webhook_id}/deliveries">["deliveries"][number];

export default function Webhooks(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllWebhooks /> : <OneWebhook key={id} id={id} />;
}

function AllWebhooks(): JSX.Element {
  const loaded = useLoad(() => request("get", "/api/v1/webhooks"), []);
  useInterval(loaded.reload, POLL_MS);
  return (
    <Page title="Webhooks">
      <NewWebhook onMade={loaded.reload} />
      <Show of={loaded}>
        {({ webhooks }) => (
          <section class="card" aria-label="Webhooks">
            {webhooks.length === 0 ? (
              <p class="quiet">
                There are no webhooks yet. A webhook tells your own server when a film, a file or a
                run is ready.
              </p>
            ) : (
              <Table columns={["Address", "Events", "State", "Last delivery"]}>
                {webhooks.map((webhook) => (
                  <tr key={webhook.id}>
                    <td>
                      <Link to={pathTo("webhooks", webhook.id)}>{webhook.url}</Link>
                    </td>
                    <td>{webhook.events.join(", ")}</td>
                    <td>
                      <Status value={webhook.state} />
                    </td>
                    <td>
                      <Time iso={webhook.last_delivered_at} />
                    </td>
                  </tr>
                ))}
              </Table>
            )}
          </section>
        )}
      </Show>
    </Page>
  );
}

function NewWebhook({ onMade }: { onMade: () => void }): JSX.Element {
  const topics = useLoad(() => request("get", "/api/v1/webhook-topics"), []);
  const { problem, isRunning, run } = useAction();
  const draft = useFormDraft("webhook");
  const [secret, setSecret] = useState<string | null>(null);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const fields = new FormData(form);
    const events = String(fields.get("events"))
      .split(/[\s,]+/)
      .filter(Boolean);
    run(async () => {
      const made = await request("post", "/api/v1/webhooks", {
        body: { url: String(fields.get("url")), events, scope: "organization" },
      });
      setSecret(made.secret);
      form.reset();
      onMade();
    });
  };
  const isAtField = problem?.field === "url" || problem?.field?.startsWith("events");
  return (
    <form ref={draft} class="card stack" onSubmit={submit}>
      <h2>New webhook</h2>
      {!isAtField && <ProblemNote problem={problem} />}
      <Field label="Address (https)" name="url" problem={problem}>
        {(attributes) => <input {...attributes} name="url" type="url" required />}
      </Field>
      <Field
        label="Events"
        name="events"
        problem={
          problem && isAtField ? { ...problem, field: problem.field?.split(".")[0] ?? null } : null
        }
        hint="Names or patterns, such as render.* or file.ready; * is all of them"
      >
        {(attributes) => <input {...attributes} name="events" defaultValue="*" required />}
      </Field>
      <details>
        <summary>All events</summary>
        <Facts of={(topics.value?.topics ?? []).map(({ topic, meaning }) => [topic, meaning])} />
      </details>
      <div>
        <button class="primary" disabled={isRunning}>
          Add
        </button>
      </div>
      <ShownOnce name="The secret of this webhook" text={secret} />
    </form>
  );
}

function OneWebhook({ id }: { id: string }): JSX.Element {
  const path = { webhook_id: id };
  const loaded = useLoad(() => request("get", "/api/v1/webhooks/{webhook_id}", { path }), [id]);
  const [version, setVersion] = useState(0);
  const refresh = (): void => {
    loaded.reload();
    setVersion((before) => before + 1);
  };
  useInterval(refresh, POLL_MS);
  const [tested, setTested] = useState<Delivery | null>(null);
  const action = useAction();
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { limit: 50, ...(cursor && { cursor }) } as never;
      const page = await request("get", "/api/v1/webhooks/{webhook_id}/deliveries", {
        path,
        query,
      });
      return { items: page.deliveries, next: page.next_cursor ?? null };
    },
    [id],
  );
  const again = (work: () => Promise<unknown>): void =>
    action.run(async () => {
      await work();
      refresh();
    });
  const remove = async (): Promise<void> => {
    if (!confirm("Delete this webhook?")) return;
    await request("delete", "/api/v1/webhooks/{webhook_id}", { path });
    goTo(pathTo("webhooks"));
  };
  return (
    <Page
      title="Webhook"
      actions={
        <>
          <button
            type="button"
            disabled={loaded.value?.state !== "paused"}
            onClick={() =>
              again(() => request("post", "/api/v1/webhooks/{webhook_id}/resume", { path }))
            }
          >
            Resume
          </button>
          <button
            type="button"
            disabled={action.isRunning}
            onClick={() =>
              again(async () => {
                setTested(null);
                await request("post", "/api/v1/webhooks/{webhook_id}/test", { path });
                setTested(await findAnswer(id));
              })
            }
          >
            Send a test
          </button>
          <button type="button" class="danger" onClick={() => action.run(remove)}>
            Delete
          </button>
        </>
      }
    >
      <ProblemNote problem={action.problem} />
      {tested && <Answer of={tested} />}
      <Show of={loaded}>
        {(webhook) => (
          <section class="card">
            <Facts
              of={[
                ["Address", webhook.url],
                ["Events", webhook.events.join(", ")],
                ["State", <Status value={webhook.state} />],
                ["Reason", webhook.reason],
                ["Failing since", <Time iso={webhook.failing_since} />],
              ]}
            />
          </section>
        )}
      </Show>
      <LongList<Delivery>
        label="Deliveries"
        columns={["Event", "Status", "Attempts", "Response", "Created", ""]}
        load={load}
        version={version}
        idOf={(delivery) => delivery.id}
        row={(delivery) => [
          delivery.topic,
          <Status value={delivery.status} />,
          delivery.attempt_count,
          <Whole
            text={String(delivery.last_attempt?.status ?? delivery.last_attempt?.error ?? "—")}
          />,
          <Time iso={delivery.created_at} />,
          <button
            type="button"
            onClick={() =>
              again(() =>
                request("post", "/api/v1/webhook-deliveries/{delivery_id}/redeliver", {
                  path: { delivery_id: delivery.id },
                }),
              )
            }
          >
            Send again
          </button>,
        ]}
        empty="Nothing was sent yet."
      />
    </Page>
  );
}

const ANSWER_POLLS = 40;
const ANSWER_POLL_MS = 500;

/** The newest test, once its receiver has answered or could not be reached. */
async function findAnswer(id: string): Promise<Delivery> {
  for (let poll = 0; poll < ANSWER_POLLS; poll++) {
    const { deliveries } = await request("get", "/api/v1/webhooks/{webhook_id}/deliveries", {
      path: { webhook_id: id },
      query: { limit: 50 } as never,
    });
    const newest = deliveries.find(({ topic }) => topic === "webhook.test");
    if (newest?.last_attempt) return newest;
    await new Promise((resolve) => setTimeout(resolve, ANSWER_POLL_MS));
  }
  throw new Error("The test is still on its way: its answer will be in the list below.");
}

/** What the receiver said to a test. */
function Answer({ of: delivery }: { of: Delivery }): JSX.Element {
  const { status, error, response, duration_ms } = delivery.last_attempt!;
  const isGood = status !== null && status < 300;
  return (
    <div class={`note ${isGood ? "good" : "bad"}`} role="status">
      {status === null ? "The receiver could not be reached" : `The receiver answered ${status}`}{" "}
      after {duration_ms} ms{error ? `: ${error}` : "."}
      {response && <pre>{response}</pre>}
    </div>
  );
}
