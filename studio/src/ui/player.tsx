/** A film: an MP4, or HLS through hls.js, which is loaded when it is needed. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

const UNREADABLE = "The film could not be loaded, or this browser cannot play it.";
const UNKNOWN = "This browser cannot show the pictures of this film: download it to see them.";

interface Properties {
  src: string;
  poster?: string | undefined;
  captions?: string | undefined;
  /** A sound needs only the controls. */
  hasPicture?: boolean;
  onTime?: (seconds: number) => void;
  /** Changes to go to another time. */
  seek?: { seconds: number } | null;
}

export function Player(properties: Properties): JSX.Element {
  const { src, poster, captions, hasPicture = true, onTime, seek } = properties;
  const video = useRef<HTMLVideoElement>(null);
  const [failure, setFailure] = useState("");
  const [attempt, setAttempt] = useState(0);
  const isPlaylist = src.includes(".m3u8") || src.endsWith("/stream");
  useEffect(() => {
    const element = video.current;
    setFailure("");
    if (element === null) return;
    if (!isPlaylist) {
      element.src = src;
      return;
    }
    let close = (): void => undefined;
    let isGone = false;
    void import("hls.js/light").then(({ default: Hls }) => {
      if (isGone) return;
      const hls = new Hls();
      hls.on(Hls.Events.ERROR, (_, data) => {
        if (data.fatal) setFailure(data.type === Hls.ErrorTypes.MEDIA_ERROR ? UNKNOWN : UNREADABLE);
      });
      hls.loadSource(src);
      hls.attachMedia(element);
      close = () => hls.destroy();
    });
    return () => {
      isGone = true;
      close();
    };
  }, [src, attempt]);
  useEffect(() => {
    if (seek && video.current) video.current.currentTime = seek.seconds;
  }, [seek]);
  return (
    <>
      <video
        ref={video}
        class={hasPicture ? "film" : "sound"}
        controls
        playsInline
        poster={poster}
        onError={() => setFailure(UNREADABLE)}
        onLoadedMetadata={() => {
          // Of some formats browsers play only the sound.
          if (hasPicture && video.current?.videoWidth === 0) setFailure(UNKNOWN);
        }}
        onTimeUpdate={() => onTime?.(video.current?.currentTime ?? 0)}
      >
        {captions && <track kind="captions" src={captions} label="Captions" />}
      </video>
      {failure && (
        <div class="note bad" role="alert">
          {failure}{" "}
          {failure === UNREADABLE && (
            <button type="button" onClick={() => setAttempt(attempt + 1)}>
              Try again
            </button>
          )}
        </div>
      )}
    </>
  );
}
