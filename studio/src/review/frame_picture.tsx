/** The exact picture of one frame. The one before stays until the next has been loaded. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

/** While somebody scrubs, only the frames at which they rest are asked for. */
const REST_MS = 40;
const RETRY_MS = 1000;
const MAX_RETRIES = 5;

function frameAddress(fileId: string, number: number): string {
  return `/api/v1/files/${fileId}/frames/number/${number}.jpg`;
}

export function FramePicture({
  fileId,
  number,
  count,
}: {
  fileId: string;
  number: number;
  count: number;
}): JSX.Element {
  const [shown, setShown] = useState<number | null>(null);
  const [failed, setFailed] = useState<number | null>(null);
  useEffect(() => {
    let isGone = false;
    const load = (attempt: number): void => {
      const picture = new Image();
      picture.src = frameAddress(fileId, number);
      picture.decode().then(
        () => {
          if (isGone) return;
          setShown(number);
          setFailed(null);
          // The neighbours are the most likely next ones.
          for (const next of [number + 1, number - 1]) {
            if (next >= 0 && next < count) new Image().src = frameAddress(fileId, next);
          }
        },
        () => {
          if (isGone) return;
          setFailed(number);
          // The service may be busy.
          const pauseMs = RETRY_MS * 2 ** attempt;
          if (attempt < MAX_RETRIES) timer = setTimeout(() => load(attempt + 1), pauseMs);
        },
      );
    };
    let timer = setTimeout(() => load(0), REST_MS);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [fileId, number, count]);
  return (
    <>
      {shown !== null && (
        <img
          class="review-picture"
          src={frameAddress(fileId, shown)}
          alt={`Frame ${shown}`}
          data-frame={shown}
          draggable={false}
        />
      )}
      {shown !== number && failed !== number && (
        // Boxes are already those of the frame that is loaded.
        <p class="review-loading">Loading frame {number}…</p>
      )}
      {failed === number && (
        <p class="note bad review-failed" role="alert">
          Frame {number} could not be loaded. Go to another frame and back to try again.
        </p>
      )}
    </>
  );
}
