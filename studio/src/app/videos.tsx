/** All videos of layer configs and templates, and one of them. */

import type { JSX } from "preact";
import { useCallback } from "preact/hooks";
import { changesOf } from "../lib/activity.ts";
import { client, request, type Video } from "../lib/api.ts";
import { duration } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Failure, Link, Page, Show, Status, Time, Warnings } from "../ui/parts.tsx";
import { Detail, Output, Source } from "./detail.tsx";

export default function Videos(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllVideos /> : <OneVideo key={id} id={id} />;
}

function statusOf(video: Video): string {
  return video.is_failed ? "failed" : video.is_ready ? "ready" : "processing";
}

function createdAt(video: Video): string {
  return new Date(1000 * (video.timestamp ?? 0)).toISOString();
}

function AllVideos(): JSX.Element {
  const load = useCallback(async (cursor: string | null) => {
    const page = Number(cursor ?? 1);
    const found = await request("get", "/v2/videos", { query: { page, per_page: 50 } });
    const next = page < found.meta.last_page ? String(page + 1) : null;
    return { items: found.data, next };
  }, []);
  return (
    <Page title="Videos">
      <LongList<Video>
        label="Videos"
        columns={["Video", "Status", "Length", "Template", "Created"]}
        load={load}
        version={changesOf("render")}
        idOf={(video) => video.id}
        row={(video) => [
          <Link to={pathTo("videos", video.id)} class="mono">
            {video.id}
          </Link>,
          <Status value={statusOf(video)} />,
          video.duration ? duration(1000 * video.duration) : "—",
          video.template_id ? (
            <Link to={pathTo("templates", video.template_id)}>{video.template_id}</Link>
          ) : (
            "—"
          ),
          <Time iso={createdAt(video)} />,
        ]}
        empty={
          <>
            There are no videos yet. A video is made from layers that a JSON text describes; a film
            made from an HTML page is a render.{" "}
            <Link to={`${pathTo("playground")}?kind=config`}>Make one in the playground.</Link>
          </>
        }
      />
    </Page>
  );
}

function OneVideo({ id }: { id: string }): JSX.Element {
  const path = { video_id: id };
  const again = async (): Promise<void> => {
    const made = await client.videos.create((await configOf(id)) as never);
    goTo(pathTo("videos", made.id));
  };
  return (
    <Detail<Video>
      page="videos"
      id={id}
      title={() => `Video ${id}`}
      load={() => request("get", "/v2/videos/{video_id}", { path })}
      version={changesOf("render")}
      activity={(video) => (statusOf(video) === "processing" ? "processing" : null)}
      progress={`/v2/videos/${id}/progress`}
      deletion={{
        question: "Delete this video?",
        run: () => request("delete", "/v2/videos/{video_id}", { path }),
      }}
      actions={({ isRunning, run }) => (
        <>
          <Link to={`${pathTo("playground")}?kind=config&video=${id}`} class="button">
            Open in the playground
          </Link>
          <button type="button" disabled={isRunning} onClick={() => run(again)}>
            Render again
          </button>
        </>
      )}
    >
      {(video) => (
        <>
          <Failure of={video.error} />
          <Warnings of={(video.warnings ?? []).map(describeWarning)} />
          {video.is_ready && <VideoOutput id={id} />}
          <VideoFacts video={video} />
          <Source load={async () => JSON.stringify(await configOf(id), null, 2)} />
        </>
      )}
    </Detail>
  );
}

/** A config may ask for a film, an animated picture or a still. */
function VideoOutput({ id }: { id: string }): JSX.Element {
  const from = `/v2/videos/${id}/download`;
  const type = useLoad(async () => {
    const response = await fetch(from, { method: "HEAD" });
    return response.headers.get("Content-Type") ?? "";
  }, [from]);
  return (
    <Show of={type}>
      {(found) => (
        <Output
          from={from}
          poster={`/v2/videos/${id}/poster`}
          isPicture={found.startsWith("image/")}
        />
      )}
    </Show>
  );
}

function VideoFacts({ video }: { video: Video }): JSX.Element {
  const { template_id: template, template_version: version, metadata } = video;
  const made = template ? (
    <Link to={pathTo("templates", template)}>
      {template}, version {version}
    </Link>
  ) : (
    "—"
  );
  return (
    <section class="card" aria-label="Facts">
      <Facts
        of={[
          ["Status", <Status value={statusOf(video)} />],
          ["Length", video.duration ? duration(1000 * video.duration) : "—"],
          ["Created", <Time iso={createdAt(video)} />],
          ["Template", made],
          ...Object.entries(metadata ?? {}).map(([name, value]) => [name, String(value)] as const),
        ]}
      />
    </section>
  );
}

/** The layer config of a video, in its normal form. */
export async function configOf(id: string): Promise<unknown> {
  const response = await fetch(`/v2/videos/${encodeURIComponent(id)}/config`);
  const answer = (await response.json()) as { message?: string };
  if (!response.ok) throw new Error(answer.message ?? "The config cannot be read.");
  return answer;
}

export function describeWarning(warning: unknown): string {
  const { path, message } = warning as { path?: string; message?: string };
  return path ? `${path}: ${message ?? ""}` : (message ?? JSON.stringify(warning));
}
