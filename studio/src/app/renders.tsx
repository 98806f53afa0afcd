/** All renders, and one of them. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { changesOf } from "../lib/activity.ts";
import { request, type Render } from "../lib/api.ts";
import { bytes, duration, shortId } from "../lib/format.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Failure, Link, Page, Status, Time, Warnings } from "../ui/parts.tsx";
import { Compare } from "./compare.tsx";
import { Detail, Download, Output, Source } from "./detail.tsx";
import { RenderSlices } from "./render_slices.tsx";

const MADE_FROM: Record<Render["source"], string> = {
  html: "page",
  bundle: "bundle",
  redaction: "redacted file",
  layers: "video",
};

const STATUSES = ["created", "queued", "rendering", "recovering", "complete", "failed"] as const;

export default function Renders(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllRenders /> : <OneRender key={id} id={id} />;
}

function AllRenders(): JSX.Element {
  const status = place.value.query.get("status");
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { limit: 50, ...(cursor && { cursor }), ...(status && { status }) } as never;
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
          <option value="">Any status</option>
          {STATUSES.map((each) => (
            <option value={each}>{each}</option>
          ))}
        </select>
      }
    >
      <LongList<Render>
        key={status}
        label="Renders"
        columns={["Render", "Status", "Made from", "Size", "Length", "Created"]}
        load={load}
        version={changesOf("render")}
        idOf={(render) => render.id}
        row={(render) => [
          <Link to={pathTo("renders", render.id)} class="mono">
            {shortId(render.id)}
          </Link>,
          <Status value={render.status} />,
          MADE_FROM[render.source],
          render.width ? `${render.width} x ${render.height}` : "—",
          render.duration_ms ? duration(render.duration_ms) : "—",
          <Time iso={render.created_at} />,
        ]}
        empty={
          <>
            There are no renders{status && ` with the status ${status}`} yet. A render makes a film
            from an HTML page. <Link to={pathTo("playground")}>Make one in the playground.</Link>
          </>
        }
      />
    </Page>
  );
}

function OneRender({ id }: { id: string }): JSX.Element {
  const path = { render_id: id };
  const version = changesOf("render");
  const again = async (): Promise<void> => {
    const made = await request("post", "/api/v1/renders/{render_id}/again", { path });
    goTo(pathTo("renders", made.id));
  };
  return (
    <Detail<Render>
      page="renders"
      id={id}
      title={() => `Render ${shortId(id)}`}
      load={() => request("get", "/api/v1/renders/{render_id}", { path })}
      version={version}
      activity={({ status }) => (["complete", "failed"].includes(status) ? null : status)}
      progress={`/api/v1/renders/${id}/progress`}
      deletion={{
        question: "Delete this render and its output?",
        run: () => request("delete", "/api/v1/renders/{render_id}", { path }),
      }}
      actions={({ isRunning, run }, render) =>
        isPage(render) && (
          <>
            <Link to={`${pathTo("playground")}?render=${id}`} class="button">
              Open in the playground
            </Link>
            <button type="button" disabled={isRunning} onClick={() => run(again)}>
              Render again
            </button>
          </>
        )
      }
    >
      {(render, isActive) => (
        <>
          <Failure of={render.error} />
          <Warnings of={render.warnings ?? []} />
          {render.status === "complete" && (
            <Output from={outputOf(render)} isPicture={!isFilm(render)} />
          )}
          <RenderSlices id={id} isActive={isActive} version={version} />
          <RenderFacts render={render} />
          {isFilm(render) && <Compare render={render} />}
          {render.source === "html" && <Source load={() => sourceOf(id)} />}
          {render.source === "bundle" && render.status !== "created" && (
            <Download from={`/api/v1/renders/${id}/source`} label="Download the source" />
          )}
        </>
      )}
    </Detail>
  );
}

function outputOf({ id, download_url: url }: Render): string {
  return new URL(url ?? `/api/v1/renders/${id}.mp4`, location.href).pathname;
}

/** Whether it can be opened and made again; others are made by pipelines. */
function isPage(render: Render | null): boolean {
  return render !== null && (render.source === "html" || render.source === "bundle");
}

function isFilm({ status, download_url: url }: Render): boolean {
  return status === "complete" && (url ?? ".mp4").endsWith("mp4");
}

/** "2.3 s"; how long it took, as far as that is known. */
function tookText(render: Render): string {
  const end = render.completed_at ?? render.failed_at;
  if (!end) return "—";
  return `${((Date.parse(end) - Date.parse(render.created_at)) / 1000).toFixed(1)} s`;
}

function RenderFacts({ render }: { render: Render }): JSX.Element {
  const metadata = Object.entries(render.metadata ?? {});
  return (
    <section class="card stack" aria-label="Facts">
      <Facts
        of={[
          ["Status", <Status value={render.status} />],
          ["Made from", MADE_FROM[render.source]],
          ["Id", <span class="mono">{render.id}</span>],
          ["Size", render.width ? `${render.width} x ${render.height}` : "—"],
          ["Frame rate", render.fps ? `${render.fps} fps` : "—"],
          ["Length", render.duration_ms ? duration(render.duration_ms) : "—"],
          ["File size", render.byte_size ? bytes(render.byte_size) : "—"],
          ["Created", <Time iso={render.created_at} />],
          ["Ended", <Time iso={render.completed_at ?? render.failed_at} />],
          ["Took, with waiting", tookText(render)],
          ...metadata.map(([name, value]) => [name, String(value)] as const),
        ]}
      />
    </section>
  );
}

async function sourceOf(id: string): Promise<string> {
  const response = await fetch(`/api/v1/renders/${id}/source`);
  if (!response.ok) return "The source is not stored any more.";
  return response.text();
}
