/** What happens now, and the first steps. */

import type { JSX } from "preact";
import { useAction } from "../lib/actions.ts";
import { changesOf } from "../lib/activity.ts";
import { request } from "../lib/api.ts";
import { quota, quotaName, shortId } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo } from "../lib/router.ts";
import { Facts, Link, Page, ProblemNote, Show, Status, Table, Time } from "../ui/parts.tsx";

const LATEST = 12;
const LATEST_FILES = 4;
const FIRST_FILM = `<style>
  body { margin: 0; background: #10141f; }
  div { width: 120px; height: 120px; background: #ff7a18; border-radius: 24px; animation: move 2s linear; }
  @keyframes move { to { transform: translate(520px, 240px) rotate(360deg); } }
</style>
<div></div>`;

interface Activity {
  kind: string;
  name: string;
  to: string;
  status: string;
  at: string;
}

/** What happened last, of all kinds. */
async function findActivity(): Promise<Activity[]> {
  const query = { limit: LATEST } as never;
  const [renders, videos, files, runs] = await Promise.all([
    request("get", "/api/v1/renders", { query }),
    request("get", "/v2/videos", { query: { page: 1, per_page: LATEST } }),
    request("get", "/api/v1/files", { query }),
    // An organization without pipelines has no runs.
    request("get", "/api/v1/pipeline-runs", { query }).catch(() => ({ runs: [] })),
  ]);
  return [
    ...renders.renders.map(({ id, status, created_at: at }) => ({
      ...{ kind: "Render", name: shortId(id), to: pathTo("renders", id), status, at },
    })),
    ...videos.data.map(({ id, is_failed, is_ready, timestamp }) => ({
      ...{ kind: "Video", name: id, to: pathTo("videos", id) },
      status: is_failed ? "failed" : is_ready ? "ready" : "processing",
      at: new Date(1000 * (timestamp ?? 0)).toISOString(),
    })),
    // Lists of files have no times; the newest come first.
    ...files.files.slice(0, LATEST_FILES).map(({ id, filename, status }) => ({
      ...{ kind: "File", name: filename, to: pathTo("files", id), status, at: "" },
    })),
    ...runs.runs.map(({ id, status, created_at: at }) => ({
      ...{ kind: "Run", name: shortId(id), to: pathTo("runs", id), status, at },
    })),
  ]
    .sort((left, right) => right.at.localeCompare(left.at))
    .slice(0, LATEST + LATEST_FILES);
}

export function Home(): JSX.Element {
  const now = changesOf("render", "file", "pipeline_run");
  const activity = useLoad(findActivity, [now]);
  const organization = useLoad(() => request("get", "/api/v1/organization"), [now]);
  const hasFilm = activity.value?.some(({ kind }) => kind === "Render" || kind === "Video");
  return (
    <Page title="Home">
      {activity.value && !hasFilm && <FirstSteps />}
      <Show of={activity}>
        {(found) =>
          found.length > 0 && (
            <section class="card">
              <h2>Latest activity</h2>
              <Table columns={["What", "Name", "Status", "Created"]}>
                {found.map(({ kind, name, to, status, at }) => (
                  <tr key={to}>
                    <td>{kind}</td>
                    <td>
                      <Link to={to}>{name}</Link>
                    </td>
                    <td>
                      <Status value={status} />
                    </td>
                    <td>
                      <Time iso={at} />
                    </td>
                  </tr>
                ))}
              </Table>
            </section>
          )
        }
      </Show>
      <section class="card">
        <h2>Usage</h2>
        <Show of={organization}>
          {({ quotas }) => (
            <Facts
              of={Object.entries(quotas).map(([name, { used, limit }]) => [
                quotaName(name),
                quota(name, used, limit),
              ])}
            />
          )}
        </Show>
      </section>
    </Page>
  );
}

/** Ends with a film. */
function FirstSteps(): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const make = async (): Promise<void> => {
    const body = { html: FIRST_FILM, width: 640, height: 360, fps: 30, duration_ms: 2000 };
    const { id } = await request("post", "/api/v1/renders", { body });
    goTo(pathTo("renders", id));
  };
  return (
    <section class="card">
      <h2>First steps</h2>
      <ol class="steps">
        <li>
          <Link to={pathTo("playground")}>Try the playground</Link>: write a page and see its frames
          as you type.
        </li>
        <li>
          <Link to={pathTo("files")}>Upload a film</Link>, if your page needs one: it is used by its
          id.
        </li>
        <li>
          <Link to={pathTo("settings")}>Make an API key</Link>, so that your programs can do the
          same.
        </li>
        <li>
          Make a film from this page, and watch it being made:
          <pre>{FIRST_FILM}</pre>
        </li>
      </ol>
      <ProblemNote problem={problem} />
      <button type="button" class="primary" disabled={isRunning} onClick={() => run(make)}>
        Make the film
      </button>
    </section>
  );
}
