/** Files: upload them by dropping, play them, read what is said in them. */

import type { JSX } from "preact";
import { useCallback, useRef, useState } from "preact/hooks";
import { changesOf } from "../lib/activity.ts";
import { client, problemOf, request, type ResultOf } from "../lib/api.ts";
import { bytes, duration, percent, shortId } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { pathTo, place } from "../lib/router.ts";
import { LongList } from "../ui/long_list.tsx";
import { Facts, Failure, Link, Page, Status, Time } from "../ui/parts.tsx";
import { Player } from "../ui/player.tsx";
import { Detail, Download } from "./detail.tsx";
import { Scrubber } from "./scrubber.tsx";
import { findTranscript, Transcript, type TranscriptState } from "./transcript.tsx";

type FileRecord = ResultOf<"get", "/api/v1/files">["files"][number];
type FileDetail = ResultOf<"get", "/api/v1/files/{file_id}">;

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
          {/* Not of one that was uploaded as tracks. */}
          {file.status === "ready" && file.next_byte === file.byte_size && (
            <Download from={`/api/v1/files/${id}/content`} />
          )}
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
