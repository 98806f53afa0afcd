/** The transcript of a file: it follows the film, and people correct it. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { request, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { duration } from "../lib/format.ts";
import type { Loaded } from "../lib/load.ts";
import { Failure, ProblemNote } from "../ui/parts.tsx";
import { correctionsIn, spanOf, type Segment } from "./transcript_spans.ts";

type Correction = ResultOf<
  "get",
  "/api/v1/transcriptions/{transcription_id}/corrections"
>["corrections"][number];

export interface TranscriptState {
  /** The transcription that is shown; `null` while none is complete. */
  id: string | null;
  isRunning: boolean;
  /** Why the newest transcription has failed. */
  failure: { code: string; message: string } | null;
  segments: readonly Segment[];
  corrections: readonly Correction[];
}

/** The newest complete transcript with its corrections. */
export async function findTranscript(fileId: string): Promise<TranscriptState> {
  const query = { file_id: fileId, limit: 100 } as never;
  const { transcriptions } = await request("get", "/api/v1/transcriptions", { query });
  const newest = transcriptions[0];
  const isRunning = !["complete", "failed", undefined].includes(newest?.status);
  const failure = newest?.error ?? null;
  const found = transcriptions.find(({ status }) => status === "complete");
  if (found === undefined) return { id: null, isRunning, failure, segments: [], corrections: [] };
  const path = { transcription_id: found.id };
  const [response, { corrections }] = await Promise.all([
    fetch(`/api/v1/transcriptions/${found.id}.json`),
    request("get", "/api/v1/transcriptions/{transcription_id}/corrections", { path }),
  ]);
  const { segments } = (await response.json()) as { segments: Segment[] };
  return { id: found.id, isRunning, failure, segments, corrections };
}

/** What undoes a change: the correction to delete, and those that it had replaced. */
interface Change {
  removed: number | null;
  before: readonly Correction[];
}

export function Transcript({
  fileId,
  transcript,
  hasSound,
  atS,
  onSeek,
}: {
  fileId: string;
  transcript: Loaded<TranscriptState>;
  hasSound: boolean;
  atS: number;
  onSeek: (seconds: number) => void;
}): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const [edited, setEdited] = useState<number | null>(null);
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const { id = null, segments = [], corrections = [] } = transcript.value ?? {};
  const place = (startMs: number) => ({
    path: { transcription_id: id ?? "", start_ms: startMs },
  });
  const put = ({ start_ms, end_ms }: { start_ms: number; end_ms: number }, text: string) =>
    request("put", "/api/v1/transcriptions/{transcription_id}/corrections/{start_ms}", {
      ...place(start_ms),
      body: { end_ms, text },
    });
  const remove = (startMs: number): Promise<unknown> =>
    request(
      "delete",
      "/api/v1/transcriptions/{transcription_id}/corrections/{start_ms}",
      place(startMs),
    );
  const change = (made: Change, work: () => Promise<unknown>, then = (): void => undefined): void =>
    run(async () => {
      await work();
      setChanges((all) => [...all, made]);
      then();
      transcript.reload();
    });
  const undo = (): void => {
    const last = changes.at(-1);
    if (last === undefined) return;
    run(async () => {
      if (last.removed !== null) await remove(last.removed);
      for (const each of last.before) await put(each, each.text);
      setChanges((all) => all.slice(0, -1));
      transcript.reload();
    });
  };
  return (
    <section
      class="card stack"
      aria-label="Transcript"
      onKeyDown={(event) => {
        const isTyping = event.target instanceof HTMLTextAreaElement;
        if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || isTyping) return;
        event.preventDefault();
        undo();
      }}
    >
      <div class="row spread">
        <h2>Transcript</h2>
        {segments.length > 0 && (
          <button type="button" disabled={isRunning || changes.length === 0} onClick={undo}>
            Undo
          </button>
        )}
      </div>
      <ProblemNote problem={problem ?? transcript.problem} />
      <Failure of={transcript.value?.failure} />
      {segments.length === 0 && transcript.value !== null && (
        <p class="quiet">
          {!hasSound
            ? "There is no sound."
            : id === null
              ? "There is no transcript yet."
              : "No speech was recognized."}
        </p>
      )}
      <ol class="transcript">
        {segments.map((segment, number) => {
          const within = correctionsIn(segment, corrections);
          return edited === number ? (
            <EditedSegment
              key={number}
              name={`transcript.${fileId}.${Math.round(1000 * segment.start)}`}
              segment={segment}
              within={within}
              isBusy={isRunning}
              onCancel={() => setEdited(null)}
              onSave={(text, forget) => {
                const span = spanOf(segment, corrections);
                change(
                  { removed: span.start_ms, before: within },
                  () => put(span, text),
                  () => {
                    forget();
                    setEdited(null);
                  },
                );
              }}
              onRestore={() =>
                change(
                  { removed: null, before: within },
                  () => Promise.all(within.map((each) => remove(each.start_ms))),
                  () => setEdited(null),
                )
              }
            />
          ) : (
            <li key={number} class={segment.start <= atS && atS < segment.end ? "current" : ""}>
              <button
                type="button"
                class="mono quiet"
                aria-label={`Go to ${duration(1000 * segment.start)}`}
                onClick={() => onSeek(segment.start)}
              >
                {duration(1000 * segment.start)}
              </button>
              <button type="button" title="Correct this" onClick={() => setEdited(number)}>
                {segment.text}
                {within.length > 0 && <span class="tag">corrected</span>}
              </button>
            </li>
          );
        })}
      </ol>
      {hasSound && <Transcribe fileId={fileId} transcript={transcript} />}
    </section>
  );
}

function EditedSegment({
  name,
  segment,
  within,
  isBusy,
  onCancel,
  onSave,
  onRestore,
}: {
  name: string;
  segment: Segment;
  within: readonly Correction[];
  isBusy: boolean;
  onCancel: () => void;
  onSave: (text: string, forget: () => void) => void;
  onRestore: () => void;
}): JSX.Element {
  const [text, setText, forget] = useDraft(name, segment.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const cancel = (): void => {
    forget();
    onCancel();
  };
  return (
    <li class="stack edited">
      <textarea
        ref={field}
        aria-label={`Text at ${duration(1000 * segment.start)}`}
        rows={3}
        value={text}
        onInput={(event) => setText((event.currentTarget as HTMLTextAreaElement).value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") cancel();
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          onSave(text, forget);
        }}
      />
      {within.map((each) => (
        <p class="quiet" key={each.start_ms}>
          Recognized: {each.original_text || "nothing"}
        </p>
      ))}
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={isBusy}
          onClick={() => onSave(text, forget)}
        >
          Save
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        {within.length > 0 && (
          <button type="button" disabled={isBusy} onClick={onRestore}>
            As recognized
          </button>
        )}
      </div>
    </li>
  );
}

/** Has it transcribed, or once more in another language; corrections stay. */
function Transcribe({
  fileId,
  transcript,
}: {
  fileId: string;
  transcript: Loaded<TranscriptState>;
}): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const [language, setLanguage] = useState("");
  const { id = null, isRunning: isTranscribing = false } = transcript.value ?? {};
  const start = async (): Promise<void> => {
    await request("post", "/api/v1/files/{file_id}/transcribe", {
      path: { file_id: fileId },
      body: language ? { language } : {},
    });
    transcript.reload();
  };
  if (isTranscribing) return <p role="status">The file is being transcribed…</p>;
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        run(start);
      }}
    >
      <ProblemNote problem={problem} />
      <div class="row">
        <input
          class="short"
          name="language"
          aria-label="Language"
          placeholder={id === null ? "language: detected" : "language: en, de, …"}
          required={id !== null}
          value={language}
          onInput={(event) => setLanguage((event.currentTarget as HTMLInputElement).value)}
        />
        <button type="submit" disabled={isRunning}>
          {id === null ? "Transcribe" : "Transcribe in another language"}
        </button>
      </div>
    </form>
  );
}
