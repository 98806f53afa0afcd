/** Who changed what in the organization. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { request, type ResultOf } from "../lib/api.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Field, Page, Time, Whole } from "../ui/parts.tsx";

type AuditEvent = ResultOf<"get", "/api/v1/audit">["events"][number];

const AREAS = [
  "key",
  "member",
  "session",
  "link",
  "webhook",
  "endpoint",
  "pipeline",
  "template",
  "render",
  "video",
  "file",
  "review",
  "quota",
  "organization",
];
const FILTERS = ["action", "actor", "resource", "since", "until"] as const;

export default function Audit(): JSX.Element {
  const { query } = place.value;
  const asked = FILTERS.map((name) => query.get(name) ?? "");
  const key = asked.join("\n");
  const load = useCallback(
    async (cursor: string | null) => {
      const [action, actor, resource, since, until] = asked;
      const page = await request("get", "/api/v1/audit", {
        query: {
          limit: 50,
          ...(cursor && { cursor }),
          ...(action && { action }),
          ...(actor && { actor }),
          ...(resource && { resource }),
          ...(since && { since: dayStart(since, 0) }),
          ...(until && { until: dayStart(until, 1) }),
        },
      });
      return { items: page.events, next: page.next_cursor ?? null };
    },
    [key],
  );
  return (
    <Page title="Audit log">
      <Filter values={asked} key={`form ${key}`} />
      <LongList<AuditEvent>
        key={key}
        label="Events"
        columns={["Time", "Who", "Action", "What", "Details", "Address"]}
        load={load}
        idOf={(event) => event.id}
        row={(event) => [
          <Time iso={event.happened_at} />,
          <Whole text={event.actor.name ?? event.actor.type.replaceAll("_", " ")} />,
          event.action,
          event.resource ? <Whole text={event.resource} isCode /> : "—",
          <Whole text={describe(event.details)} />,
          event.actor.address ?? "—",
        ]}
        empty="There are no such events."
      />
    </Page>
  );
}

function describe(details: Record<string, unknown>): string {
  return Object.entries(details)
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${String(value)}`)
    .join(", ");
}

/** The first instant of a day here, or of the day after it. */
function dayStart(day: string, later: number): string {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

function Filter({ values }: { values: readonly string[] }): JSX.Element {
  const [action, actor, resource, since, until] = values;
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const query = new URLSearchParams();
    for (const name of FILTERS) {
      const value = String(data.get(name) ?? "").trim();
      if (value) query.set(name, value);
    }
    goTo(`${pathTo("audit")}${query.size ? `?${query}` : ""}`);
  };
  return (
    <form class="row fields" onSubmit={submit} aria-label="Filter">
      <Field label="Area">
        {(attributes) => (
          <select {...attributes} name="action">
            <option value="">All areas</option>
            {[...new Set([...AREAS, ...(action ? [action] : [])])].map((area) => (
              <option key={area} value={area} selected={area === action}>
                {area}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Who">
        {(attributes) => (
          <input {...attributes} name="actor" defaultValue={actor} maxLength={300} />
        )}
      </Field>
      <Field label="Id of what was changed">
        {(attributes) => (
          <input {...attributes} name="resource" defaultValue={resource} maxLength={300} />
        )}
      </Field>
      <Field label="From">
        {(attributes) => <input {...attributes} name="since" type="date" defaultValue={since} />}
      </Field>
      <Field label="To">
        {(attributes) => <input {...attributes} name="until" type="date" defaultValue={until} />}
      </Field>
      <button class="primary">Filter</button>
      {values.some(Boolean) && (
        <button type="button" onClick={() => goTo(pathTo("audit"))}>
          Show all
        </button>
      )}
    </form>
  );
}
