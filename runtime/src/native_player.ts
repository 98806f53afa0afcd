/** Preview only: a source played by the browser itself, kept in step with the composition. */

import { fileUrl, type MediaInfo, type MediaSource } from "./host.ts";

/** Less than an ear or eye notices, more than a player's own unevenness. */
const DRIFT_S = 0.15;

export class NativePlayer {
  readonly element: HTMLVideoElement;

  constructor(source: MediaSource) {
    this.element = document.createElement("video");
    this.element.preload = "auto";
    this.element.playsInline = true;
    this.element.src = source.fileId === null ? (source.src ?? "") : fileUrl(source.fileId);
  }

  info(): Promise<MediaInfo> {
    const video = this.element;
    return new Promise((resolve, reject) => {
      const onLoaded = (): void => resolve(infoOf(video));
      if (video.readyState >= HTMLMediaElement.HAVE_METADATA) onLoaded();
      video.addEventListener("loadedmetadata", onLoaded, { once: true });
      const onError = (): void => reject(new Error(video.error?.message || "cannot be played"));
      video.addEventListener("error", onError, { once: true });
    });
  }

  sync(sourceMs: number, wanted: { isPlaying: boolean; gain: number }): void {
    const video = this.element;
    video.volume = Math.min(1, wanted.gain);
    video.muted = wanted.gain === 0;
    const seconds = sourceMs / 1000;
    const allowedS = wanted.isPlaying ? DRIFT_S : 0.001;
    if (Math.abs(video.currentTime - seconds) > allowedS) video.currentTime = seconds;
    if (!wanted.isPlaying) video.pause();
    // Browsers refuse sound before the first click; the picture then follows by seeking.
    else if (video.paused) video.play().catch(() => undefined);
  }

  pause(): void {
    this.element.pause();
  }
}

function infoOf(video: HTMLVideoElement): MediaInfo {
  const hasVideo = video.videoWidth > 0;
  return {
    durationMs: Number.isFinite(video.duration) ? video.duration * 1000 : 0,
    widthPx: hasVideo ? video.videoWidth : null,
    heightPx: hasVideo ? video.videoHeight : null,
    hasVideo,
    hasAudio: true,
  };
}
