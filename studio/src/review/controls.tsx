/** The buttons under the picture: play, go to a frame, undo, preview and zoom. */

import type { JSX } from "preact";
import type { FrameTimes } from "./frames.ts";

export interface ControlsProps {
  frame: number;
  frames: FrameTimes;
  isPlaying: boolean;
  isPreview: boolean;
  zoomStep: number;
  zooms: readonly number[];
  onPlay: () => void;
  onFrame: (number: number) => void;
  /** Null if there is nothing to undo. */
  onUndo: (() => void) | null;
  onRedo: (() => void) | null;
  onPreview: () => void;
  onZoom: (step: number) => void;
}

export function Controls(props: ControlsProps): JSX.Element {
  const { frame, frames } = props;
  return (
    <div class="row review-controls">
      <button type="button" class="primary" onClick={props.onPlay}>
        {props.isPlaying ? "Pause" : "Play"}
      </button>
      <button type="button" aria-label="Previous frame" onClick={() => props.onFrame(frame - 1)}>
        ‹
      </button>
      <FrameNumber frame={frame} last={frames.count - 1} onFrame={props.onFrame} />
      <button type="button" aria-label="Next frame" onClick={() => props.onFrame(frame + 1)}>
        ›
      </button>
      <span class="quiet mono">{(frames.span(frame).fromMs / 1000).toFixed(3)} s</span>
      <button type="button" disabled={props.onUndo === null} onClick={() => props.onUndo?.()}>
        Undo
      </button>
      <button type="button" disabled={props.onRedo === null} onClick={() => props.onRedo?.()}>
        Redo
      </button>
      <button type="button" aria-pressed={props.isPreview} onClick={props.onPreview}>
        Preview
      </button>
      <label class="row">
        Zoom
        <select
          value={props.zoomStep}
          onChange={(event) => props.onZoom(Number(event.currentTarget.value))}
        >
          {props.zooms.map((zoom, step) => (
            <option key={zoom} value={step}>
              {100 * zoom} %
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** The number of the frame; Enter goes to the one that was typed. */
function FrameNumber({
  frame,
  last,
  onFrame,
}: {
  frame: number;
  last: number;
  onFrame: (number: number) => void;
}): JSX.Element {
  return (
    <span class="row mono">
      <input
        type="number"
        class="review-number"
        aria-label="Frame number"
        min={0}
        max={last}
        value={frame}
        onChange={(event) => {
          const typed = event.currentTarget.valueAsNumber;
          // What is not a frame is replaced by the number of the one that is shown.
          event.currentTarget.value = String(frame);
          if (!Number.isNaN(typed)) onFrame(Math.round(typed));
        }}
        onKeyDown={(event) => {
          // The keys of the page work again.
          if (event.key === "Enter") event.currentTarget.blur();
        }}
      />
      / {last}
    </span>
  );
}
