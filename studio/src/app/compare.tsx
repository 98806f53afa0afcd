/** Two films side by side, at the same frame. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { request, type Render } from "../lib/api.ts";
import { ago, shortId } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { Show } from "../ui/parts.tsx";

/** Renders that this one can be compared with: the newest complete films. */
export function Compare({ render }: { render: Render }): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="card"
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>Compare with another render</summary>
      {isOpen && <Choice render={render} />}
    </details>
  );
}

function Choice({ render }: { render: Render }): JSX.Element {
  const [other, setOther] = useState("");
  const loaded = useLoad(async () => {
    const query = { limit: 50, status: "complete" } as never;
    const { renders } = await request("get", "/api/v1/renders", { query });
    return renders.filter(({ id, download_url: url }) => id !== render.id && url?.endsWith("mp4"));
  }, [render.id]);
  return (
    <Show of={loaded}>
      {(renders) =>
        renders.length === 0 ? (
          <p class="quiet">There is no other film yet.</p>
        ) : (
          <div class="stack">
            <select
              aria-label="Other render"
              value={other}
              onChange={(event) => setOther((event.currentTarget as HTMLSelectElement).value)}
            >
              <option value="">choose a render…</option>
              {renders.map((each) => (
                <option value={each.id}>
                  {shortId(each.id)}, {each.width} x {each.height}, {ago(each.created_at)}
                </option>
              ))}
            </select>
            {renders
              .filter(({ id }) => id === other)
              .map((each) => (
                <Pair key={each.id} renders={[render, each]} />
              ))}
          </div>
        )
      }
    </Show>
  );
}

function Pair({ renders }: { renders: readonly [Render, Render] }): JSX.Element {
  const [frame, setFrame] = useState(0);
  const fps = renders[0].fps ?? 30;
  const longest = Math.max(...renders.map(({ duration_ms: ms }) => ms ?? 0));
  const count = Math.max(1, Math.round((longest / 1000) * fps));
  return (
    <div class="stack">
      <label>
        Frame {frame + 1} of {count}
        <input
          type="range"
          aria-label="Frame"
          min={0}
          max={count - 1}
          value={frame}
          onInput={(event) => setFrame((event.currentTarget as HTMLInputElement).valueAsNumber)}
        />
      </label>
      <div class="pair">
        {renders.map((render) => (
          <figure key={render.id}>
            {/* The middle of a frame: its start may be rounded into the one before. */}
            <StillFilm src={`/api/v1/renders/${render.id}.mp4`} atS={(frame + 0.5) / fps} />
            <figcaption class="mono">{shortId(render.id)}</figcaption>
          </figure>
        ))}
      </div>
    </div>
  );
}

function StillFilm({ src, atS }: { src: string; atS: number }): JSX.Element {
  const video = useRef<HTMLVideoElement>(null);
  useEffect(() => {
    if (video.current) video.current.currentTime = atS;
  }, [atS]);
  return <video ref={video} class="film" src={src} muted playsInline preload="auto" />;
}
