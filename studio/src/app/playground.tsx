/** Write a page or a layer config, see a frame of it, and make the film. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { client, request } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { Copy, ShowPage } from "../ui/parts.tsx";
import { EditorPage } from "./editor_page.tsx";
import { drawConfig, useFrame, type Frame } from "./frame_preview.tsx";
import { OptionFields, withoutNulls, type RenderOptions } from "./render_options.tsx";
import { decodeShared, encodeShared, shortHash } from "./shared_text.ts";
import { configOf } from "./videos.tsx";

type Kind = "html" | "config";
const EDITORS = {
  html: { label: "HTML page", language: "html" },
  config: { label: "Layer config", language: "json", schema: "/schemas/layer-config.json" },
} as const;
const FIRST_PAGE = `<ef-timegroup mode="fixed" duration="4s" style="width: 1280px; height: 720px; background: #10141f">
  <h1 style="margin: 0; padding: 280px 90px; color: #ff9a52; font: 700 96px sans-serif; animation: rise 1s ease-out both">
    Hello
  </h1>
  <style>
    @keyframes rise { from { transform: translateY(80px); opacity: 0 } }
  </style>
</ef-timegroup>
`;
const FIRST_CONFIG = `{
  "dimensions": {"width": 1280, "height": 720},
  "duration": 4,
  "backgroundColor": "#10141f",
  "layers": [
    {"id": "title", "type": "text", "text": {"text": "Hello", "color": "#ff9a52", "fontSize": 96},
     "position": {"x": "center", "y": "center"}}
  ]
}
`;

export default function Playground(): JSX.Element {
  const { query } = place.value;
  const kind: Kind = query.get("kind") === "config" ? "config" : "html";
  const [renderId, videoId] = [query.get("render"), query.get("video")];
  const { hash } = location;
  const opened = useLoad(
    () => findStart(kind, { hash, renderId, videoId }),
    [kind, hash, renderId, videoId],
  );
  return (
    <ShowPage of={opened} title="Playground">
      {(start) => <Bench key={start.name} kind={kind} start={start} />}
    </ShowPage>
  );
}

/** What the editor begins with, and the name of its draft. */
interface Start {
  name: string;
  text: string;
  options: RenderOptions;
}

/** A shared text, a render or a video has a draft of its own: it never replaces what was typed. */
async function findStart(
  kind: Kind,
  from: { hash: string; renderId: string | null; videoId: string | null },
): Promise<Start> {
  const base = `playground.${kind}`;
  const shared = decodeShared(from.hash);
  if (shared !== null) {
    return { name: `${base}.link.${shortHash(shared)}`, text: shared, options: {} };
  }
  if (from.videoId !== null) {
    const text = JSON.stringify(await configOf(from.videoId), null, 2);
    return { name: `${base}.${from.videoId}`, text, options: {} };
  }
  if (from.renderId !== null) {
    const path = { render_id: from.renderId };
    const sent = await request("get", "/api/v1/renders/{render_id}/request", { path });
    if (sent.source !== "html") throw new Error("This render was not made from one page.");
    const response = await fetch(`/api/v1/renders/${encodeURIComponent(from.renderId)}/source`);
    const { width, height, fps, duration_ms, data } = sent;
    return {
      name: `${base}.${from.renderId}`,
      text: await response.text(),
      options: withoutNulls({ width, height, fps, duration_ms, data }),
    };
  }
  return { name: base, text: kind === "html" ? FIRST_PAGE : FIRST_CONFIG, options: {} };
}

function Bench({ kind, start }: { kind: Kind; start: Start }): JSX.Element {
  const [text, setText, forget] = useDraft(start.name, start.text);
  const [optionText, setOptionText, forgetOptions] = useDraft(
    `${start.name}.options`,
    JSON.stringify(start.options),
  );
  const options = JSON.parse(optionText) as RenderOptions;
  const drawn = useFrame([text, optionText], (atS, signal) =>
    kind === "html"
      ? drawPage({ ...options, html: text }, atS, signal)
      : drawConfig(JSON.parse(text), atS, signal),
  );
  const [starts, setStarts] = useState(0);
  const action = useAction();
  const makeFilm = async (): Promise<void> => {
    if (kind === "html") {
      const body = { html: text, ...options } as never;
      const { id } = await request("post", "/api/v1/renders", { body });
      goTo(pathTo("renders", id));
    } else {
      const { id } = await client.videos.create(JSON.parse(text));
      goTo(pathTo("videos", id));
    }
  };
  return (
    <EditorPage
      title="Playground"
      choices={<Choices kind={kind} text={text} />}
      startAgain={() => {
        forget();
        forgetOptions();
        setStarts(starts + 1);
      }}
      main={{ label: "Make the film", action, work: makeFilm }}
      refused={action.problem}
      editor={EDITORS[kind]}
      text={text}
      onText={setText}
      drawn={drawn}
      wrong={drawn.problem}
      durationS={options.duration_ms ? options.duration_ms / 1000 : undefined}
    >
      {kind === "html" && (
        <OptionFields
          key={starts}
          options={options}
          onChange={(changed) => setOptionText(JSON.stringify(changed))}
        />
      )}
    </EditorPage>
  );
}

/** What is written, and a link with which others see it. */
function Choices({ kind, text }: { kind: Kind; text: string }): JSX.Element {
  return (
    <>
      <select
        aria-label="What to write"
        value={kind}
        onChange={(event) => {
          const { value } = event.currentTarget as HTMLSelectElement;
          goTo(`${pathTo("playground")}?kind=${value}`);
        }}
      >
        {Object.entries(EDITORS).map(([value, { label }]) => (
          <option value={value}>{label}</option>
        ))}
      </select>
      <Copy
        label="Copy a link to this"
        text={`${location.origin}${pathTo("playground")}?kind=${kind}#${encodeShared(text)}`}
      />
    </>
  );
}

/** A still of the page; the render is deleted as soon as its picture is here. */
async function drawPage(
  asked: RenderOptions & { html: string },
  atS: number,
  signal: AbortSignal,
): Promise<Frame> {
  const output = { container: "jpeg" } as never;
  const duration_ms = Math.round(1000 * atS);
  const body = { ...asked, duration_ms, output, metadata: { preview: "1" } } as never;
  const { id } = await client.renders.create(body);
  try {
    const render = await client.renders.wait(id, { signal });
    const picture = await client.renders.download(id, signal);
    return { url: URL.createObjectURL(await picture.blob()), warnings: render.warnings ?? [] };
  } finally {
    void discard(id);
  }
}

/** Deletes a render that nobody needs any more; while it is made, that is refused. */
async function discard(id: string): Promise<void> {
  await client.renders.wait(id).catch(() => undefined);
  await client.renders.delete(id).catch(() => undefined);
}
