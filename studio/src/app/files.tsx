/** Files: upload them by dropping, play them, read what is said in them. */

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { changes } from "../lib/activity.ts";
import { client, problemOf, request, type ResultOf } from "../lib/api.ts";
import { bytes, duration, percent, shortId } from "../lib/format.ts";
import { useProgress } from "../lib/events.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import {
  Facts,
  Failure,
  Link,
  Page,
  ProblemNote,
  Progress,
  Show,
  Status,
  Time,
} from "../ui/parts.tsx";
import { Player } from "../ui/player.tsx";

type FileRecord = ResultOf<"get", "/api/v1/files">["files"][number];
type FileDetail = ResultOf<"get", "/api/v1/files/{file_id}">;
interface Transcript {
  segments: { start: number; end: number; text: string }[];
}

export default function Files(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllFiles /> : <OneFile key={id} id={id} />;
}

function AllFiles(): JSX.Element {
  const [search, setSearch] = useState("");
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { limit: 50, ...(cursor && { cursor }), ...(search && { search }) } as never;
      const page = await request("get", "/api/v1/files", { query });
      return { items: page.files, next: page.next_cursor ?? null };
    },
    [search],
  );
  return (
    <Page
      title="Files"
      actions={
        <input
          type="search"
          aria-label="Search by name"
          placeholder="Search by name"
          value={search}
          onInput={(event) => setSearch((event.currentTarget as HTMLInputElement).value)}
        />
      }
    >
      <Upload />
      <LongList<FileRecord>
        key={search}
        label="Files"
        columns={["Name", "Type", "Status", "Size"]}
        load={load}
        version={changes.value}
        idOf={(file) => file.id}
        row={(file) => [
          <Link to={pathTo("files", file.id)}>{file.filename}</Link>,
          file.type,
          <Status value={file.status} />,
          file.byte_size ? bytes(file.byte_size) : "—",
        ]}
        empty={search ? "No file has this in its name." : "There are no files yet: drop one above."}
      />
    </Page>
  );
}

interface Sending {
  name: string;
  fraction: number;
  problem: string;
}

/** Files that are dropped or chosen; after a break an upload goes on where it stopped. */
function Upload(): JSX.Element {
  const [sending, setSending] = useState<readonly Sending[]>([]);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const send = (file: File): void => {
    const update = (change: Partial<Sending>): void =>
      setSending((all) =>
        all.map((each) => (each.name === file.name ? { ...each, ...change } : each)),
      );
    setSending((all) => [
      ...all.filter((each) => each.name !== file.name),
      { name: file.name, fraction: 0, problem: "" },
    ]);
    const key = `framekiln.upload.${file.name}.${file.size}.${file.lastModified}`;
    const begun = localStorage.getItem(key);
    client.files
      .upload(file, {
        ...(begun && { fileId: begun }),
        onBegun: (id) => localStorage.setItem(key, id),
        onProgress: (done, total) => update({ fraction: total ? done / total : 0 }),
      })
      .then(
        () => {
          localStorage.removeItem(key);
          update({ fraction: 1 });
        },
        (error: unknown) => {
          // A file that was deleted meanwhile begins anew with the next attempt.
          const { message, code } = problemOf(error);
          if (code === "file_not_found") localStorage.removeItem(key);
          update({ problem: message });
        },
      );
  };
  const sendAll = (files: FileList | null | undefined): void => [...(files ?? [])].forEach(send);
  return (
    <section
      class={`card stack drop${isOver ? " over" : ""}`}
      aria-label="Upload"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        sendAll(event.dataTransfer?.files);
      }}
    >
      <div class="row">
        <button type="button" class="primary" onClick={() => input.current?.click()}>
          Upload files
        </button>
        <span class="quiet">or drop them here</span>
      </div>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(event) => sendAll((event.currentTarget as HTMLInputElement).files)}
      />
      {sending.map(({ name, fraction, problem }) => (
        <label key={name}>
          {name}: {problem || (fraction === 1 ? "uploaded" : percent(fraction))}
          <progress value={fraction} max={1} />
        </label>
      ))}
    </section>
  );
}

function OneFile({ id }: { id: string }): JSX.Element {
  const path = { file_id: id };
  const loaded = useLoad(
    () => request("get", "/api/v1/files/{file_id}", { path }),
    [id, changes.value],
  );
  const { problem, isRunning, run } = useAction();
  const isProcessing = loaded.value?.status === "processing";
  const fraction = useProgress(isProcessing ? `/api/v1/files/${id}/progress` : null, loaded.reload);
  const remove = async (): Promise<void> => {
    if (!confirm("Delete this file and everything made from it?")) return;
    await client.files.delete(id);
    goTo(pathTo("files"));
  };
  return (
    <Page
      title={loaded.value?.filename ?? `File ${shortId(id)}`}
      actions={
        <>
          <Link to={pathTo("files")} class="button">
            All files
          </Link>
          <button type="button" class="danger" disabled={isRunning} onClick={() => run(remove)}>
            Delete
          </button>
        </>
      }
    >
      <ProblemNote problem={problem} />
      <Show of={loaded}>
        {(file) => (
          <>
            {isProcessing && <Progress label="processing" fraction={fraction} />}
            <Failure of={file.error} />
            {file.status === "ready" && file.type === "video" && <Media file={file} />}
            {file.status === "ready" && file.type === "image" && (
              <img class="film checker" src={`/api/v1/files/${id}/content`} alt={file.filename} />
            )}
            <FileFacts file={file} />
          </>
        )}
      </Show>
    </Page>
  );
}

function Media({ file }: { file: FileDetail }): JSX.Element {
  const [atS, setAt] = useState(0);
  const [seek, setSeek] = useState<{ seconds: number } | null>(null);
  const transcript = useLoad(() => findTranscript(file.id), [file.id, changes.value]);
  const { problem, isRunning, run } = useAction();
  const segments = transcript.value?.segments ?? [];
  const source = encodeURIComponent(`file-id:${file.id}`);
  const hasSound = file.tracks.some((track) => track.type === "audio");
  const transcribe = async (): Promise<void> => {
    await request("post", "/api/v1/files/{file_id}/transcribe", {
      path: { file_id: file.id },
      body: {},
    });
    transcript.reload();
  };
  return (
    <div class="split">
      <section class="card stack" aria-label="Player">
        <Player
          src={`/api/v1/transcode/manifest.m3u8?url=${source}`}
          captions={segments.length > 0 ? `/api/v1/files/${file.id}/transcription.vtt` : undefined}
          onTime={setAt}
          seek={seek}
        />
        {hasSound && (
          <Waveform
            id={file.id}
            atS={atS}
            durationS={(file.duration_ms ?? 0) / 1000}
            onSeek={(seconds) => setSeek({ seconds })}
          />
        )}
      </section>
      <section class="card stack" aria-label="Transcript">
        <h2>Transcript</h2>
        <ProblemNote problem={problem} />
        {segments.length === 0 && (
          <p class="quiet">
            {hasSound ? "There is no transcript yet, or nothing is said." : "There is no sound."}
          </p>
        )}
        {hasSound && segments.length === 0 && (
          <div>
            <button type="button" disabled={isRunning} onClick={() => run(transcribe)}>
              Transcribe
            </button>
          </div>
        )}
        <ol class="transcript">
          {segments.map(({ start, end, text }) => (
            <li class={start <= atS && atS < end ? "current" : ""}>
              <button type="button" onClick={() => setSeek({ seconds: start })}>
                <span class="quiet mono">{duration(1000 * start)}</span> {text}
              </button>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

/** The newest transcript; empty until one is complete. */
async function findTranscript(id: string): Promise<Transcript> {
  const query = { file_id: id, limit: 10 } as never;
  const found = await request("get", "/api/v1/transcriptions", { query });
  if (!found.transcriptions.some(({ status }) => status === "complete")) return { segments: [] };
  const response = await fetch(`/api/v1/files/${id}/transcription.json`);
  return (await response.json()) as Transcript;
}

/** The loudness over time; a click goes there. */
function Waveform({
  id,
  atS,
  durationS,
  onSeek,
}: {
  id: string;
  atS: number;
  durationS: number;
  onSeek: (seconds: number) => void;
}): JSX.Element | null {
  const canvas = useRef<HTMLCanvasElement>(null);
  const loaded = useLoad(async () => {
    const response = await fetch(`/api/v1/files/${id}/waveform.json`);
    return response.ok ? peaksOf(await response.json()) : [];
  }, [id]);
  const peaks = loaded.value ?? [];
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const style = getComputedStyle(element);
    const { width, height } = element;
    context.clearRect(0, 0, width, height);
    for (let x = 0; x < width; x++) {
      const from = Math.floor((x / width) * peaks.length);
      const to = Math.max(from + 1, Math.floor(((x + 1) / width) * peaks.length));
      const loudest = Math.max(0, ...peaks.slice(from, to));
      const isPlayed = durationS > 0 && x / width < atS / durationS;
      context.fillStyle = style.getPropertyValue(isPlayed ? "--accent" : "--quiet");
      const tall = Math.max(1, loudest * height);
      context.fillRect(x, (height - tall) / 2, 1, tall);
    }
  }, [peaks, atS, durationS]);
  if (peaks.length === 0) return null;
  return (
    <canvas
      ref={canvas}
      class="waveform"
      width={600}
      height={64}
      role="img"
      aria-label="Waveform"
      onClick={(event) => {
        const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
        onSeek(((event.clientX - left) / width) * durationS);
      }}
    />
  );
}

/** Loudness from 0 to 1, whichever form the file has. */
function peaksOf(raw: unknown): number[] {
  const { data, peaks, bits } = raw as { data?: number[]; peaks?: number[]; bits?: number };
  const values = peaks ?? data ?? [];
  const full = bits === 16 ? 32768 : Math.max(1, ...values.map(Math.abs));
  return values.map((value) => Math.min(1, Math.abs(value) / full));
}

function FileFacts({ file }: { file: FileDetail }): JSX.Element {
  return (
    <section class="card" aria-label="Facts">
      <Facts
        of={[
          ["Status", <Status value={file.status} />],
          ["Id", <span class="mono">{file.id}</span>],
          ["Type", file.mime_type ?? file.type],
          ["Size", file.byte_size ? bytes(file.byte_size) : "—"],
          ["Picture", file.width ? `${file.width} x ${file.height}` : "—"],
          ["Length", file.duration_ms ? duration(file.duration_ms) : "—"],
          [
            "Tracks",
            file.tracks.map((each) => `${each.type} (${each.codec_name})`).join(", ") || "—",
          ],
          ["Created", <Time iso={file.created_at} />],
        ]}
      />
    </section>
  );
}
