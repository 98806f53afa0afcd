/** Plays the film; when it stops, the page shows the exact picture of the frame again. */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FrameTimes } from "./frames.ts";

export interface Playback {
  isPlaying: boolean;
  /** Why the browser cannot play the film. */
  failure: string | null;
  toggle: () => void;
  stop: () => void;
}

export function usePlayback(
  video: RefObject<HTMLVideoElement | null>,
  frames: FrameTimes,
  frame: number,
  onFrame: (number: number) => void,
): Playback {
  const [isPlaying, setPlaying] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const stop = (): void => {
    video.current?.pause();
    setPlaying(false);
  };
  useEffect(() => {
    const element = video.current;
    if (!isPlaying || element === null) return;
    let request = 0;
    const follow = (_now: number, { mediaTime }: VideoFrameCallbackMetadata): void => {
      onFrame(frames.played(mediaTime));
      request = element.requestVideoFrameCallback(follow);
    };
    request = element.requestVideoFrameCallback(follow);
    const ended = (): void => {
      onFrame(frames.count - 1);
      setPlaying(false);
    };
    element.addEventListener("ended", ended);
    return () => {
      element.cancelVideoFrameCallback(request);
      element.removeEventListener("ended", ended);
    };
  }, [isPlaying, frames]);
  const start = (): void => {
    const element = video.current;
    if (element === null) return;
    const begin = frame === frames.count - 1 ? 0 : frame;
    const { fromMs, untilMs } = frames.span(begin);
    // The middle of a frame: a player may round its beginning to the frame before.
    element.currentTime = (fromMs + untilMs) / 2000;
    element.play().then(
      () => {
        setFailure(null);
        setPlaying(true);
      },
      () => setFailure("This browser cannot play the film. Step through its frames instead."),
    );
  };
  return { isPlaying, failure, toggle: isPlaying ? stop : start, stop };
}
