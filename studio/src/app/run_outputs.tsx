/** The outputs of a run's steps: media to play, facts, and annotations as a table. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { request, type ResultOf } from "../lib/api.ts";
import { duration } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { pathTo } from "../lib/router.ts";
import { Facts, Link, Show, Table } from "../ui/parts.tsx";
import { Player } from "../ui/player.tsx";
import { annotationRow, mediaOf } from "./output_parts.ts";

type Run = ResultOf<"get", "/api/v1/pipeline-runs/{run_id}">;
type Output = ResultOf<
  "get",
  "/api/v1/pipeline-runs/{run_id}/outputs/{namespace}"
>["outputs"][number];

const MAX_ROWS = 200;

export function Outputs({ run }: { run: Run }): JSX.Element {
  const names = run.steps.filter((step) => step.status === "succeeded");
  const [name, setName] = useState<string | null>(null);
  const loaded = useLoad(async () => {
    if (name === null) return null;
    const path = { run_id: run.id, namespace: name };
    return request("get", "/api/v1/pipeline-runs/{run_id}/outputs/{namespace}", { path });
  }, [name]);
  return (
    <section class="card stack" aria-label="Outputs">
      <h2>Outputs</h2>
      <div class="row">
        {names.map((step) => (
          <button
            type="button"
            aria-pressed={step.namespace === name}
            onClick={() => setName(step.namespace)}
          >
            {step.namespace}
          </button>
        ))}
        {names.length === 0 && <span class="quiet">No step has succeeded yet.</span>}
      </div>
      {name !== null && (
        <Show of={loaded}>
          {(found) => (
            <>
              {(found?.outputs ?? []).map((output) => (
                <OneOutput key={output.window.index ?? -1} output={output} />
              ))}
            </>
          )}
        </Show>
      )}
    </section>
  );
}

function OneOutput({ output }: { output: Output }): JSX.Element {
  const { window, output: content } = output;
  const metadata = content.metadata as Record<string, unknown>;
  const film = mediaOf(metadata);
  const annotations = content.annotations as Record<string, unknown>[];
  return (
    <div class="stack">
      {window.index !== null && (
        <h3>
          {duration(window.start_ms ?? 0)} to {duration(window.end_ms ?? 0)}
        </h3>
      )}
      {film && <Player src={film} />}
      <Facts
        of={Object.entries(metadata).map(([field, value]) => [
          field,
          <Value of={value} name={field} />,
        ])}
      />
      {annotations.length > 0 && <Annotations of={annotations} />}
      <details>
        <summary>JSON</summary>
        <pre>{JSON.stringify(content, null, 2)}</pre>
      </details>
    </div>
  );
}

function Value({ of: value, name }: { of: unknown; name: string }): JSX.Element {
  if (name === "file_id") return <Link to={pathTo("files", String(value))}>{String(value)}</Link>;
  if (name.endsWith("_ms") && typeof value === "number") {
    return <>{`${duration(value)} (${value} ms)`}</>;
  }
  if (typeof value === "object" && value !== null) return <code>{JSON.stringify(value)}</code>;
  return <>{String(value)}</>;
}

export function Annotations({ of: all }: { of: readonly Record<string, unknown>[] }): JSX.Element {
  return (
    <>
      <Table label="Annotations" columns={["From", "To", "Kind", "What", "Confidence"]}>
        {all.slice(0, MAX_ROWS).map((each, at) => (
          <tr key={at}>
            {annotationRow(each).map((cell) => (
              <td>{cell}</td>
            ))}
          </tr>
        ))}
      </Table>
      {all.length > MAX_ROWS && (
        <p class="quiet">
          The first {MAX_ROWS} of {all.length}; the JSON has all of them.
        </p>
      )}
    </>
  );
}
