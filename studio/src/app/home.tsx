/** What happens now, and the first steps. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { changesOf } from "../lib/activity.ts";
import { problemOf, request, type Problem } from "../lib/api.ts";
import { quota, shortId } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo } from "../lib/router.ts";
import { Facts, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";

const FIRST_FILM = `<style>
  body { margin: 0; background: #10141f; }
  div { width: 120px; height: 120px; background: #ff7a18; border-radius: 24px; animation: move 2s linear; }
  @keyframes move { to { transform: translate(520px, 240px) rotate(360deg); } }
</style>
<div></div>`;

export function Home(): JSX.Element {
  const now = changesOf("render", "file", "pipeline_run");
  const renders = useLoad(() => request("get", "/api/v1/renders", { query: { limit: 8 } }), [now]);
  const organization = useLoad(() => request("get", "/api/v1/organization"), [now]);
  return (
    <Page title="Home">
      <Show of={renders}>
        {({ renders: found }) =>
          found.length === 0 ? (
            <FirstSteps />
          ) : (
            <section class="card">
              <h2>Latest renders</h2>
              <div class="scrolled">
                <table>
                  <thead>
                    <tr>
                      <th>Render</th>
                      <th>Status</th>
                      <th>Created</th>
                    </tr>
                  </thead>
                  <tbody>
                    {found.map((render) => (
                      <tr key={render.id}>
                        <td>
                          <Link to={pathTo("renders", render.id)} class="mono">
                            {shortId(render.id)}
                          </Link>
                        </td>
                        <td>
                          <Status value={render.status} />
                        </td>
                        <td>
                          <Time iso={render.created_at} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
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
                name.replaceAll("_", " "),
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
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = (): void => {
    const body = { html: FIRST_FILM, width: 640, height: 360, fps: 30, duration_ms: 2000 };
    request("post", "/api/v1/renders", { body }).then(
      ({ id }) => goTo(pathTo("renders", id)),
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <section class="card">
      <h2>First steps</h2>
      <ol class="steps">
        <li>Make a film from this page, and watch it being made:</li>
      </ol>
      <pre>{FIRST_FILM}</pre>
      <p />
      <ProblemNote problem={problem} />
      <button type="button" class="primary" onClick={make}>
        Make the film
      </button>
    </section>
  );
}
