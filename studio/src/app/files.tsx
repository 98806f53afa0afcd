/** Files: upload them by dropping, play them, read what is said in them. */

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { changesOf } from "../lib/activity.ts";
import { client, request, type ResultOf } from "../lib/api.ts";
import { bytes, duration, percent, shortId } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { upload, uploads } from "../lib/uploads.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Failure, Link, Page, Status, Time } from "../ui/parts.tsx";
import { Player } from "../ui/player.tsx";
import { Detail, Download } from "./detail.tsx";
import { Scrubber } from "./scrubber.tsx";
import { findTranscript, Transcript, type TranscriptState } from "./transcript.tsx";

type FileRecord = ResultOf<"get", "/api/v1/files">["files"][number];
type FileDetail = ResultOf<"get", "/api/v1/files/{file_id}">;

const PAUSE_MS = 250;

export default function Files(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllFiles /> : <OneFile key={id} id={id} />;
}

function AllFiles(): JSX.Element {
  const search = place.value.query.get("search") ?? "";
  const [typed, setTyped] = useState(search);
  const asked = useRef(search);
  useEffect(() => {
    if (typed === asked.current) return undefined;
    const timer = setTimeout(() => {
      asked.current = typed;
      const query = typed && `?search=${encodeURIComponent(typed)}`;
      goTo(pathTo("files") + query, { replace: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  // Another address was opened, by the menu for example.
  useEffect(() => {
    if (search === asked.current) return;
    asked.current = search;
    setTyped(search);
  }, [search]);
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
          maxLength={200}
          value={typed}
          onInput={(event) => setTyped((event.currentTarget as HTMLInputElement).value)}
        />
      }
    >
      <Upload />
      <LongList<FileRecord>
        key={search}
        label="Files"
        columns={["Name", "Type", "Status", "Size"]}
        load={load}
        version={changesOf("file")}
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

/** Files that are dropped or chosen. */
function Upload(): JSX.Element {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const sendAll = (files: FileList | null | undefined): void => [...(files ?? [])].forEach(upload);
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
        onChange={(event) => {
          const chosen = event.currentTarget as HTMLInputElement;
          sendAll(chosen.files);
          // The same file can be chosen again, after a break.
          chosen.value = "";
        }}
      />
      {uploads.value.map(({ key, name, fraction, isDone, problem }) => (
        <label key={key}>
          {name}: {problem || (isDone ? "uploaded" : percent(fraction))}
          <progress value={fraction} max={1} />
        </label>
      ))}
    </section>
  );
}

function OneFile({ id }: { id: string }): JSX.Element {
  const path = { file_id: id };
  return (
    <Detail<FileDetail>
      page="files"
      id={id}
      title={(file) => file?.filename ?? `File ${shortId(id)}`}
      load={() => request("get", "/api/v1/files/{file_id}", { path })}
      version={changesOf("file")}
      activity={({ status }) => (status === "processing" ? status : null)}
      progress={`/api/v1/files/${id}/progress`}
      deletion={{
        question: "Delete this file and everything made from it?",
        run: () => client.files.delete(id),
      }}
    >
      {(file) => (
        <>
          <Failure of={file.error} />
          {file.status === "ready" && file.type === "video" && <Media file={file} />}
          {file.status === "ready" && file.type === "image" && (
            <img class="film checker" src={`/api/v1/files/${id}/content`} alt={file.filename} />
          )}
          {/* Not of one that was uploaded as tracks. */}
          {file.status === "ready" && file.next_byte === file.byte_size && (
            <Download from={`/api/v1/files/${id}/content`} />
          )}
          <FileFacts file={file} />
        </>
      )}
    </Detail>
  );
}

function Media({ file }: { file: FileDetail }): JSX.Element {
  const [atS, setAt] = useState(0);
  const [seek, setSeek] = useState<{ seconds: number } | null>(null);
  const transcript = useLoad(
    () => findTranscript(file.id),
    [file.id, changesOf("transcription", "transcript_correction")],
  );
  const source = encodeURIComponent(`file-id:${file.id}`);
  const goToTime = (seconds: number): void => {
    setAt(seconds);
    setSeek({ seconds });
  };
  const captions = captionsOf(transcript.value);
  return (
    <div class="split">
      <section class="card stack" aria-label="Player">
        <Player
          src={`/api/v1/transcode/manifest.m3u8?url=${source}`}
          captions={captions}
          hasPicture={file.tracks.some((track) => track.type === "video")}
          onTime={setAt}
          seek={seek}
        />
        <Scrubber
          fileId={file.id}
          atS={atS}
          durationS={(file.duration_ms ?? 0) / 1000}
          onSeek={goToTime}
        />
      </section>
      <Transcript
        fileId={file.id}
        transcript={transcript}
        hasSound={file.tracks.some((track) => track.type === "audio")}
        atS={atS}
        onSeek={goToTime}
      />
    </div>
  );
}

/** The address of the captions; another one after each correction, so that they are read again. */
function captionsOf(transcript: TranscriptState | null): string | undefined {
  if (!transcript?.id || transcript.segments.length === 0) return undefined;
  const times = transcript.corrections.map((each) => Date.parse(each.updated_at));
  const version = `${times.length}-${Math.max(0, ...times)}`;
  return `/api/v1/transcriptions/${transcript.id}.vtt?version=${version}`;
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
