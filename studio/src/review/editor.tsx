/** A review task: the film frame by frame with its boxes, tracks, transcript and decision. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Problem, ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { duration } from "../lib/format.ts";
import {
  boxIn,
  hasBoxes,
  instantIn,
  isShown,
  moved,
  resized,
  withBox,
  withoutKeyframe,
  withSpan,
  type Annotation,
  type Box,
} from "./boxes.ts";
import {
  corrected,
  correctionOf,
  itemsOf,
  mutesOf,
  nextId,
  readDraft,
  replaced,
  transcriptOf,
  type Correction,
  type Item,
} from "./correction.ts";
import { Controls } from "./controls.tsx";
import { Decision, type Asked, type Review } from "./decision.tsx";
import { Details } from "./details.tsx";
import { FramePicture } from "./frame_picture.tsx";
import type { FrameTimes } from "./frames.ts";
import { beginHistory, record, redo, undo } from "./history.ts";
import { keyAction, Keys, type KeyAction } from "./keys.tsx";
import { usePlayback } from "./playback.ts";
import { Stage } from "./stage.tsx";
import { Tracks } from "./tracks.tsx";
import { Transcript } from "./transcript.tsx";

export type ReviewInputs = ResultOf<"get", "/api/v1/pipeline-reviews/{review_id}/inputs">;

/** How long a new box is there, until its end is set. */
const NEW_BOX_MS = 1000;
const NEW_BOX: Box = { x: 0.4, y: 0.4, w: 0.2, h: 0.2 };
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8] as const;

export function Editor({
  review,
  inputs,
  frames,
  onDecided,
  onClosed,
}: {
  review: Review;
  inputs: ReviewInputs;
  frames: FrameTimes;
  onDecided: (review: Review) => void;
  /** The decision came too late. */
  onClosed: (problem: Problem) => void;
}): JSX.Element {
  const isReadOnly = review.status !== "pending";
  const found = useMemo(() => itemsOf(inputs.outputs), [inputs]);
  const [draft, setDraft, forgetDraft] = useDraft(`review.${review.id}`, "");
  const [history, setHistory] = useState(() =>
    beginHistory((!isReadOnly && readDraft(draft)) || found),
  );
  const [selected, setSelected] = useState<number | null>(null);
  const [frame, setFrame] = useState(0);
  const [zoomStep, setZoomStep] = useState(0);
  const [isPreview, setPreview] = useState(false);
  const [asked, setAsked] = useState<Asked>(null);
  const [kind, setKind] = useState(inputs.redacted_kinds[0] ?? "");
  const video = useRef<HTMLVideoElement>(null);
  const playback = usePlayback(video, frames, frame, setFrame);

  const decided = review.metadata_patch as unknown as Correction | null;
  const items = isReadOnly ? corrected(found, decided) : history.present;
  const correction = correctionOf(found, items);
  const item = items.find(({ id }) => id === selected) ?? null;
  const span = frames.span(frame);
  const size = { width: inputs.file.width ?? 16, height: inputs.file.height ?? 9 };
  const kinds = [
    ...new Set([...inputs.redacted_kinds, ...items.map(({ annotation }) => annotation.kind)]),
  ].sort();
  const mutes = mutesOf(items, inputs.redacted_kinds);
  const words = transcriptOf(found);
  const tracked = items.filter((each) => hasBoxes(each.annotation) || mutes.includes(each));

  useEffect(() => {
    if (!isReadOnly) setDraft(correction === null ? "" : JSON.stringify(items));
  }, [history.present]);

  const change = (next: Item[], name: string | null = null): void => {
    if (!isReadOnly) setHistory((before) => record(before, next, name));
  };
  const edit = (
    id: number,
    how: (of: Annotation) => Annotation,
    name: string | null = null,
  ): void => {
    const own = items.find((each) => each.id === id);
    const next = own && how(own.annotation);
    if (next && next !== own.annotation) change(replaced(items, id, next), name);
  };
  const editSelected = (how: (of: Annotation) => Annotation, name: string | null = null): void => {
    if (selected !== null) edit(selected, how, name);
  };
  const add = (annotation: Annotation): void => {
    const id = nextId([...found, ...items]);
    change([...items, { id, annotation }]);
    setSelected(id);
  };
  const addBox = (box: Box): void => {
    if (isReadOnly) return;
    const start_ms = instantIn(span);
    const end_ms = Math.min(frames.endMs, start_ms + NEW_BOX_MS);
    const empty = { kind: kind || "box", start_ms, end_ms, keyframes: [] };
    add(withBox(empty, span, box));
  };
  const remove = (ids: readonly number[]): void => {
    change(items.filter(({ id }) => !ids.includes(id)));
    setSelected(null);
  };
  const go = (number: number): void => {
    playback.stop();
    setFrame(Math.max(0, Math.min(frames.count - 1, number)));
  };
  const nudge = (how: (box: Box) => Box, name: string): void =>
    editSelected((annotation) => {
      if (!hasBoxes(annotation)) return annotation;
      return withBox(annotation, span, how(boxIn(annotation, span)));
    }, `${name} ${selected} ${frame}`);
  const addKeyframe = (): void =>
    editSelected((annotation) =>
      hasBoxes(annotation) ? withBox(annotation, span, boxIn(annotation, span)) : annotation,
    );
  const removeKeyframe = (): void => editSelected((each) => withoutKeyframe(each, span));
  const begin = (): void =>
    editSelected((each) => withSpan(each, instantIn(span), Math.max(instantIn(span), each.end_ms)));
  const end = (): void =>
    editSelected((each) =>
      withSpan(each, Math.min(instantIn(span), each.start_ms), instantIn(span)),
    );

  const act = (action: KeyAction): void => {
    const [dx, dy] = [action.across / size.width, action.down / size.height];
    const hasBox = item !== null && hasBoxes(item.annotation);
    switch (action.name) {
      case "play":
        return playback.toggle();
      case "step":
        return go(frame + action.across);
      case "seconds":
        return go(frames.at(span.fromMs + 1000 * action.across));
      case "mark": {
        const marked = item === null ? tracked : [item];
        const annotations = marked.map(({ annotation }) => annotation);
        return go(frames.mark(frame, action.across, annotations));
      }
      case "first":
        return go(0);
      case "last":
        return go(frames.count - 1);
      case "move":
        return hasBox ? nudge((box) => moved(box, dx, dy), "move") : go(frame + action.across);
      case "resize":
        return nudge((box) => resized(box, { across: 1, down: 1 }, dx, dy), "resize");
      case "new":
        return addBox(NEW_BOX);
      case "delete":
        return selected === null ? undefined : remove([selected]);
      case "keyframe":
        return addKeyframe();
      case "no keyframe":
        return removeKeyframe();
      case "begin":
        return begin();
      case "end":
        return end();
      case "next box": {
        const shown = tracked.filter(({ annotation }) => isShown(annotation, span));
        const place = shown.findIndex(({ id }) => id === selected);
        return setSelected(shown[(place + 1) % shown.length]?.id ?? null);
      }
      case "preview":
        return setPreview(!isPreview);
      case "zoom":
        return setZoomStep(Math.max(0, Math.min(ZOOMS.length - 1, zoomStep + action.across)));
      case "approve":
      case "reject":
        return isReadOnly ? undefined : setAsked(action.name);
      case "undo":
        return setHistory(undo);
      case "redo":
        return setHistory(redo);
      case "none":
        return setSelected(null);
    }
  };
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const action = keyAction(event);
      if (action === null) return;
      event.preventDefault();
      latest.current(action);
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);

  return (
    <div class="review">
      <div class="stack review-main">
        <Stage
          items={items}
          hidden={items.filter(({ annotation }) => isRedacted(inputs, annotation))}
          span={span}
          size={size}
          selected={selected}
          zoom={ZOOMS[zoomStep] ?? 1}
          isPreview={isPreview}
          isReadOnly={isReadOnly}
          onSelect={(id) => {
            playback.stop();
            setSelected(id);
          }}
          onBox={(id, box, name) => edit(id, (each) => withBox(each, span, box), name)}
          onDraw={addBox}
        >
          <FramePicture fileId={inputs.file.id} number={frame} count={frames.count} />
          <video
            ref={video}
            class="review-picture"
            hidden={!playback.isPlaying}
            src={`/api/v1/files/${inputs.file.id}/content`}
            preload="metadata"
            playsInline
          />
        </Stage>
        {playback.failure && (
          <p class="note bad" role="alert">
            {playback.failure}
          </p>
        )}
        <input
          type="range"
          class="review-scrubber"
          aria-label="Frame"
          aria-valuetext={`Frame ${frame}, ${duration(span.fromMs)}`}
          min={0}
          max={frames.count - 1}
          value={frame}
          onInput={(event) => go(Number(event.currentTarget.value))}
        />
        <Controls
          frame={frame}
          frames={frames}
          isPlaying={playback.isPlaying}
          isPreview={isPreview}
          zoomStep={zoomStep}
          zooms={ZOOMS}
          onPlay={playback.toggle}
          onFrame={go}
          onUndo={history.past.length > 0 ? () => setHistory(undo) : null}
          onRedo={history.future.length > 0 ? () => setHistory(redo) : null}
          onPreview={() => setPreview(!isPreview)}
          onZoom={setZoomStep}
        />
        <Tracks
          items={tracked}
          frames={frames}
          frame={frame}
          selected={selected}
          onSelect={setSelected}
          onFrame={go}
        />
        {words.length > 0 && (
          <Transcript
            words={words}
            mutes={mutes}
            nowMs={span.fromMs}
            isReadOnly={isReadOnly}
            onGo={(ms) => go(frames.at(ms))}
            onMute={(start_ms, end_ms) => add({ kind: muteKind(inputs, items), start_ms, end_ms })}
            onUnmute={remove}
          />
        )}
      </div>
      <div class="stack review-side">
        {!isReadOnly && (
          <section class="card stack" aria-label="New box">
            <div class="field">
              <label for="review-new-kind">Kind of new boxes</label>
              <input
                id="review-new-kind"
                list="review-new-kinds"
                value={kind}
                onInput={(event) => setKind(event.currentTarget.value.trim())}
              />
              <datalist id="review-new-kinds">
                {kinds.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
              {kind !== "" && !inputs.redacted_kinds.includes(kind) && (
                <span class="quiet">No later step hides this kind.</span>
              )}
            </div>
            <button type="button" onClick={() => addBox(NEW_BOX)}>
              Add a box
            </button>
            <span class="quiet">Or draw it on the picture.</span>
          </section>
        )}
        {item && (
          <Details
            item={item}
            span={span}
            kinds={kinds}
            isReadOnly={isReadOnly}
            onKind={(next) => next !== "" && editSelected((each) => ({ ...each, kind: next }))}
            onKeyframe={addKeyframe}
            onNoKeyframe={removeKeyframe}
            onStart={begin}
            onEnd={end}
            onDelete={() => remove([item.id])}
          />
        )}
        {!isReadOnly && (
          <Decision
            review={review}
            correction={correction}
            asked={asked}
            onAsked={setAsked}
            onDecided={(next) => {
              forgetDraft();
              onDecided(next);
            }}
            onClosed={(problem) => {
              forgetDraft();
              onClosed(problem);
            }}
            onProblem={(place) => {
              const wrong = place === null ? null : correction?.annotations[place];
              const own = items.find(({ annotation }) => annotation === wrong);
              if (own) setSelected(own.id);
            }}
          />
        )}
        <Keys />
      </div>
    </div>
  );
}

/** Whether a later step hides it; where none does, the preview shows what one would hide. */
function isRedacted({ redacted_kinds }: ReviewInputs, { kind }: Annotation): boolean {
  return redacted_kinds.length === 0 || redacted_kinds.includes(kind);
}

/** A kind that a later step redacts, and rather one of which there are no boxes. */
function muteKind(inputs: ReviewInputs, items: readonly Item[]): string {
  const boxed = new Set(
    items.filter((each) => hasBoxes(each.annotation)).map(({ annotation }) => annotation.kind),
  );
  const kinds = inputs.redacted_kinds;
  return kinds.find((kind) => !boxed.has(kind)) ?? kinds[0] ?? "mute";
}
