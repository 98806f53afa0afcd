/** All renders, and one of them. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { problemOf, request, type Problem, type Render } from "../lib/api.ts";
import { duration, percent, shortId } from "../lib/format.ts";
import { useEvents } from "../lib/events.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";

const POLL_MS = 2_000;
const STATUSES = ["created", "queued", "rendering", "complete", "failed"] as const;

export default function Renders(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllRenders /> : <OneRender key={id} id={id} />;
}

function AllRenders(): JSX.Element {
  const status = place.value.query.get("status");
  const [version, setVersion] = useState(0);
  useInterval(() => setVersion(version + 1), POLL_MS);
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { ...(cursor && { cursor }), ...(status && { status }) } as never;
      const page = await request("get", "/api/v1/renders", { query });
      return { items: page.renders, next: page.next_cursor ?? null };
    },
    [status],
  );
  return (
    <Page
      title="Renders"
      actions={
        <select
          aria-label="Status"
          value={status ?? ""}
          onChange={(event) => {
            const { value } = event.currentTarget as HTMLSelectElement;
            goTo(pathTo("renders") + (value && `?status=${value}`));
          }}
        >
          <option value="">all</option>
          {STATUSES.map((each) => (
            <option value={each}>{each}</option>
          ))}
        </select>
      }
    >
      <LongList<Render>
        key={status}
        label="Renders"
        columns={["Render", "Status", "Size", "Length", "Created"]}
        load={load}
        version={version}
        idOf={(render) => render.id}
        row={(render) => [
          <Link to={pathTo("renders", render.id)} class="mono">
            {shortId(render.id)}
          </Link>,
          <Status value={render.status} />,
          render.width ? `${render.width} x ${render.height}` : "—",
          render.duration_ms ? duration(render.duration_ms) : "—",
          <Time iso={render.created_at} />,
        ]}
        empty={
          <>
            There are no renders{status && ` with the status ${status}`} yet.{" "}
            <Link to="/">Make the first one.</Link>
          </>
        }
      />
    </Page>
  );
}

function OneRender({ id }: { id: string }): JSX.Element {
  const loaded = useLoad(
    () => request("get", "/api/v1/renders/{render_id}", { path: { render_id: id } }),
    [id],
  );
  const [fraction, setFraction] = useState(0);
  const [problem, setProblem] = useState<Problem | null>(null);
  const isActive = loaded.value !== null && !["complete", "failed"].includes(loaded.value.status);
  useEvents(isActive ? `/api/v1/renders/${id}/progress` : null, {
    progress: (data) => setFraction(Number(JSON.parse(data).progress ?? 0)),
    complete: loaded.reload,
    error: loaded.reload,
  });
  const remove = (): void => {
    if (!confirm("Delete this render and its output?")) return;
    request("delete", "/api/v1/renders/{render_id}", { path: { render_id: id } }).then(
      () => goTo(pathTo("renders")),
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <Page
      title={`Render ${shortId(id)}`}
      actions={
        <>
          <Link to={pathTo("renders")} class="button">
            All renders
          </Link>
          <button type="button" class="danger" disabled={isActive} onClick={remove}>
            Delete
          </button>
        </>
      }
    >
      <ProblemNote problem={problem} />
      <Show of={loaded}>
        {(render) => (
          <>
            {isActive && (
              <div class="card" role="status">
                <label>
                  {render.status}: {percent(fraction)}
                  <progress value={fraction} max={1} />
                </label>
              </div>
            )}
            {render.status === "complete" && <Output render={render} />}
            <RenderFacts render={render} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Output({ render }: { render: Render }): JSX.Element {
  const address = new URL(render.download_url ?? `/api/v1/renders/${render.id}.mp4`, location.href);
  const path = address.pathname;
  const isFilm = path.endsWith(".mp4");
  return (
    <section class="card stack">
      {isFilm ? (
        <video class="film" src={path} controls loop playsInline />
      ) : (
        <img class="film checker" src={path} alt="The output of this render" />
      )}
      <div class="row">
        <a class="button" href={path} download>
          Download
        </a>
      </div>
    </section>
  );
}

function RenderFacts({ render }: { render: Render }): JSX.Element {
  return (
    <section class="card stack">
      <Facts
        of={Object.entries(render)
          .filter(([, value]) => value !== null && typeof value !== "object")
          .map(([name, value]) => [name.replaceAll("_", " "), String(value)])}
      />
    </section>
  );
}
