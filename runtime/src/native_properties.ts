/** Lets scripts see clips that are loaded and obey, though the browser knows nothing of them. */

import type { NativeClip } from "./native_clip.ts";

type ClipOf = (element: HTMLMediaElement) => NativeClip;
type Getters = Readonly<Record<string, (clip: NativeClip) => unknown>>;

const MEDIA: Getters = {
  paused: (clip) => !clip.isPlaying,
  ended: (clip) => clip.isOver,
  duration: (clip) => (clip.info === null ? Number.NaN : clip.info.durationMs / 1000),
  readyState: (clip) => (clip.info === null ? 0 : HTMLMediaElement.HAVE_ENOUGH_DATA),
  networkState: (clip) => (clip.info === null ? 0 : HTMLMediaElement.NETWORK_IDLE),
  buffered: (clip) => rangesOf(clip),
  seekable: (clip) => rangesOf(clip),
  currentSrc: (clip) => clip.src,
  seeking: (clip) => clip.isSeeking,
  error: () => null,
};
const VIDEO: Getters = {
  videoWidth: (clip) => clip.info?.widthPx ?? 0,
  videoHeight: (clip) => clip.info?.heightPx ?? 0,
};

/** What the browser keeps and checks itself; a clip reads it when it was set. */
const SETTINGS: Readonly<Record<string, (clip: NativeClip) => void>> = {
  playbackRate: (clip) => clip.readSettings(),
  preservesPitch: (clip) => clip.readSettings(),
  volume: (clip) => clip.readGain(),
  muted: (clip) => clip.readGain(),
};

export function replaceProperties(clipOf: ClipOf): void {
  const media = HTMLMediaElement.prototype;
  const video = HTMLVideoElement.prototype;
  defineGetters(media, MEDIA, clipOf);
  defineGetters(video, VIDEO, clipOf);
  for (const [name, read] of Object.entries(SETTINGS)) followSetting(media, name, clipOf, read);
  define(media, "src", clipOf, {
    get: (clip) => clip.src,
    set: (clip, src) => {
      clip.src = String(src);
    },
  });
  define(media, "currentTime", clipOf, {
    get: (clip) => (clip.positionMs ?? 0) / 1000,
    set: (clip, seconds) => seek(clip, Number(seconds)),
  });
  replaceMethods(media, video, clipOf);
  replaceAudio();
}

function replaceMethods(media: HTMLMediaElement, video: HTMLVideoElement, clipOf: ClipOf): void {
  media.play = function play(this: HTMLMediaElement): Promise<void> {
    return clipOf(this).play();
  };
  media.pause = function pause(this: HTMLMediaElement): void {
    clipOf(this).pause();
  };
  media.load = function load(this: HTMLMediaElement): void {
    clipOf(this).load();
  };
  media.fastSeek = function fastSeek(this: HTMLMediaElement, seconds: number): void {
    seek(clipOf(this), seconds);
  };
  video.requestVideoFrameCallback = function request(
    this: HTMLVideoElement,
    callback: VideoFrameRequestCallback,
  ): number {
    return clipOf(this).requestFrame(callback);
  };
  video.cancelVideoFrameCallback = function cancel(this: HTMLVideoElement, handle: number): void {
    clipOf(this).frameCallbacks.cancel(handle);
  };
}

/** `new Audio(address)` would load it before anybody could take the address away. */
function replaceAudio(): void {
  window.Audio = new Proxy(window.Audio, {
    construct: (_native, [src]: [unknown?]) => {
      const audio = document.createElement("audio");
      audio.preload = "auto";
      if (src !== undefined) audio.src = String(src);
      return audio;
    },
  });
}

function seek(clip: NativeClip, seconds: number): void {
  if (!Number.isFinite(seconds)) throw new TypeError("currentTime must be a finite number");
  clip.seek(seconds * 1000);
}

function rangesOf({ info }: NativeClip): TimeRanges {
  const lengthS = info === null ? null : info.durationMs / 1000;
  const at = (seconds: number) => (index: number) => {
    if (lengthS !== null && index === 0) return seconds;
    throw new DOMException(`there is no range ${index}`, "IndexSizeError");
  };
  return { length: lengthS === null ? 0 : 1, start: at(0), end: at(lengthS ?? 0) };
}

function defineGetters(prototype: object, getters: Getters, clipOf: ClipOf): void {
  for (const [name, get] of Object.entries(getters)) define(prototype, name, clipOf, { get });
}

function define(
  prototype: object,
  name: string,
  clipOf: ClipOf,
  {
    get,
    set,
  }: { get: (clip: NativeClip) => unknown; set?: (clip: NativeClip, value: unknown) => void },
): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: HTMLMediaElement) {
      return get(clipOf(this));
    },
    ...(set && {
      set(this: HTMLMediaElement, value: unknown) {
        set(clipOf(this), value);
      },
    }),
  });
}

function followSetting(
  prototype: object,
  name: string,
  clipOf: ClipOf,
  read: (clip: NativeClip) => void,
): void {
  const native = Object.getOwnPropertyDescriptor(prototype, name);
  if (native?.get === undefined || native.set === undefined) return;
  const { get, set } = native;
  Object.defineProperty(prototype, name, {
    ...native,
    get,
    set(this: HTMLMediaElement, value: unknown) {
      set.call(this, value);
      read(clipOf(this));
    },
  });
}
