/** Keys, links, quotas and usage of the organization. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useFormDraft } from "../lib/drafts.ts";
import { quota, quotaName } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { LongList } from "../ui/long_list.tsx";
import {
  Field,
  Page,
  ProblemNote,
  Show,
  ShownOnce,
  Status,
  Table,
  Time,
  Unseen,
  Whole,
} from "../ui/parts.tsx";
import { UsageCharts } from "./usage.tsx";

type SignedLink = ResultOf<"get", "/api/v1/links">["links"][number];

const DAY_S = 86_400;
const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, "the old one ends now"],
  [3_600, "the old one works for an hour"],
  [DAY_S, "the old one works for a day"],
  [7 * DAY_S, "the old one works for a week"],
];
const KEY_COLUMNS = [
  "Name",
  "Id",
  "Created",
  "Last used",
  "Made by",
  "State",
  <Unseen>Change</Unseen>,
];

export default function Settings(): JSX.Element {
  return (
    <Page title="Settings">
      <Keys />
      <Links />
      <Usage />
    </Page>
  );
}

function Keys(): JSX.Element {
  const loaded = useLoad(() => request("get", "/api/v1/keys"), []);
  const { problem, isRunning, run } = useAction();
  const draft = useFormDraft("key");
  const [made, setMade] = useState<string | null>(null);
  const create = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    run(async () => {
      const body = { name: String(new FormData(form).get("name")) };
      const key = await request("post", "/api/v1/keys", { body });
      setMade(key.text);
      form.reset();
      loaded.reload();
    });
  };
  const rotate = (id: string, overlapS: number): void => {
    run(async () => {
      const key = await request("post", "/api/v1/keys/{key_id}/rotate", {
        path: { key_id: id },
        body: { overlap_s: overlapS },
      });
      setMade(key.text);
      loaded.reload();
    });
  };
  const revoke = (id: string, name: string): void => {
    if (!confirm(`Revoke the key ${name}? Programs with it stop working.`)) return;
    run(async () => {
      await request("delete", "/api/v1/keys/{key_id}", { path: { key_id: id } });
      loaded.reload();
    });
  };
  return (
    <section class="card stack" aria-label="API keys">
      <h2>API keys</h2>
      {problem?.field !== "name" && <ProblemNote problem={problem} />}
      <form ref={draft} class="row fields" onSubmit={create}>
        <Field label="Name of a new key" name="name" problem={problem}>
          {(attributes) => <input {...attributes} name="name" required maxLength={200} />}
        </Field>
        <button class="primary" disabled={isRunning}>
          Make a key
        </button>
      </form>
      <ShownOnce name="The key" text={made} />
      <Show of={loaded}>
        {({ keys }) => (
          <Table columns={KEY_COLUMNS}>
            {keys.map((key) => (
              <tr key={key.key_id}>
                <td>{key.name}</td>
                <td class="mono">{key.key_id}</td>
                <td>
                  <Time iso={key.created_at} />
                </td>
                <td>
                  <Time iso={key.last_used_at} />
                </td>
                <td>{key.made_by ?? <span class="quiet">the operator</span>}</td>
                <td>
                  <Status value={key.revoked_at ? "revoked" : "active"} />
                  {!key.revoked_at && isLater(key.previous_until) && (
                    <div class="quiet">
                      the old secret ends <Time iso={key.previous_until} />
                    </div>
                  )}
                </td>
                <td>
                  {!key.revoked_at && (
                    <KeyActions
                      name={key.name}
                      rotate={(overlapS) => rotate(key.key_id, overlapS)}
                      revoke={() => revoke(key.key_id, key.name)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
    </section>
  );
}

function isLater(iso: string | null): boolean {
  return iso !== null && Date.parse(iso) > Date.now();
}

/** Buttons of a key; the overlap is asked for before anything changes. */
function KeyActions({
  name,
  rotate,
  revoke,
}: {
  name: string;
  rotate: (overlapS: number) => void;
  revoke: () => void;
}): JSX.Element {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking) {
    return (
      <div class="row">
        <button type="button" class="danger" onClick={revoke}>
          Revoke
        </button>
        <button type="button" onClick={() => setAsking(true)}>
          Rotate
        </button>
      </div>
    );
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    setAsking(false);
    rotate(Number(data.get("overlap")));
  };
  return (
    <form class="row" onSubmit={submit}>
      <select name="overlap" aria-label={`How long the old secret of ${name} works`}>
        {OVERLAPS.map(([seconds, text]) => (
          <option key={seconds} value={seconds} selected={seconds === DAY_S}>
            {text}
          </option>
        ))}
      </select>
      <button class="primary">New secret</button>
      <button type="button" onClick={() => setAsking(false)}>
        Cancel
      </button>
    </form>
  );
}

function Links(): JSX.Element {
  const [version, setVersion] = useState(0);
  const { problem, isRunning, run } = useAction();
  const load = useCallback(async (cursor: string | null) => {
    const query = { limit: 50, ...(cursor && { cursor }) };
    const page = await request("get", "/api/v1/links", { query });
    return { items: page.links, next: page.next_cursor };
  }, []);
  const revoke = async (id: string): Promise<void> => {
    await request("delete", "/api/v1/links/{link_id}", { path: { link_id: id } });
    setVersion(version + 1);
  };
  return (
    <section class="card stack" aria-label="Links">
      <h2>Links</h2>
      <ProblemNote problem={problem} />
      <LongList<SignedLink>
        label="Links"
        columns={["Made", "Expires", "", "Leads to"]}
        isLastLongest
        load={load}
        version={version}
        idOf={(link) => link.id}
        row={(link) => [
          <Time iso={link.created_at} />,
          link.revoked_at ? "revoked" : <Time iso={link.expires_at} />,
          !link.revoked_at && (
            <button type="button" disabled={isRunning} onClick={() => run(() => revoke(link.id))}>
              Revoke
            </button>
          ),
          <Whole text={link.address} isCode />,
        ]}
        empty={
          <>
            There are no links. A link lets somebody without an account play or download one thing
            until it expires; programs make links with <code>POST /api/v1/links</code>.
          </>
        }
      />
    </section>
  );
}

function Usage(): JSX.Element {
  const loaded = useLoad(() => request("get", "/api/v1/organization"), []);
  return (
    <section class="card stack" aria-label="Usage">
      <h2>Usage</h2>
      <Show of={loaded}>
        {({ quotas }) => (
          <div class="grid">
            {Object.entries(quotas).map(([name, { used, limit }]) => (
              <label>
                {quotaName(name)}: {quota(name, used, limit)}
                {limit !== null && used !== null && <progress value={used} max={limit || 1} />}
              </label>
            ))}
          </div>
        )}
      </Show>
      <UsageCharts />
    </section>
  );
}
