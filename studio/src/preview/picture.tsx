/** The picture, its zoom, safe areas, and the error that lies over it. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Composition } from "./model.ts";
import type { Playback } from "./playback.ts";

export type Zoom = "fit" | 1 | 2;

interface Properties {
  composition: Composition;
  playback: Playback;
  zoom: Zoom;
  hasSafeAreas: boolean;
}

export function Picture({ composition, playback, zoom, hasSafeAreas }: Properties): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height } = composition;
  useEffect(() => {
    playback.draw = (picture, frame) => {
      const element = canvas.current;
      if (element === null) return;
      // A canvas is emptied when its size is set, so the last picture stays until the next is here.
      if (element.width !== picture.width) element.width = picture.width;
      if (element.height !== picture.height) element.height = picture.height;
      element.getContext("2d")?.drawImage(picture, 0, 0);
      element.dataset["frame"] = String(frame);
      element.dataset["version"] = playback.frames.value?.version ?? "";
    };
  }, [playback]);
  const size =
    zoom === "fit"
      ? { "--ratio": (width || 16) / (height || 9) }
      : { width: `${width * zoom}px`, height: `${height * zoom}px` };
  return (
    <div class={`stage ${zoom === "fit" ? "fit" : "zoomed"}`}>
      <div class="picture" style={size}>
        <canvas
          ref={canvas}
          width={width || 16}
          height={height || 9}
          role="img"
          aria-label={`Frame ${playback.frame.value} of ${composition.name}`}
        />
        {hasSafeAreas && (
          <>
            <div class="safe action" aria-hidden="true" />
            <div class="safe title" aria-hidden="true" />
          </>
        )}
      </div>
      {playback.isWaiting.value && <div class="badge">making frames…</div>}
      <PictureProblem composition={composition} playback={playback} />
    </div>
  );
}

function PictureProblem({
  composition,
  playback,
}: Pick<Properties, "composition" | "playback">): JSX.Element | null {
  const { error } = composition;
  const message = error?.message ?? playback.frames.value?.problem.value ?? null;
  if (message === null) return null;
  const place = error?.line ? `${error.file ?? composition.name}:${error.line}` : error?.file;
  return (
    <div class="problem" role="alert">
      <strong>{error === null ? "This frame cannot be made" : "This cannot be shown"}</strong>
      {place && <code>{place}</code>}
      <p>{message}</p>
      {error !== null && <p class="quiet">Correct the file and save it: the preview follows.</p>}
    </div>
  );
}
