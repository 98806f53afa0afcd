/**
 * Plain <video>, <audio> and <img> in a render: found as they come, never loaded or played by the
 * browser, timed by the group around them or by the page's own scripts.
 */

import { fileUrl } from "./host.ts";
import { NativeClip } from "./native_clip.ts";

interface Clock {
  /** The own time of the nearest timed element around, or null without one or while it is hidden. */
  ownMsAround(element: Element): number | null;
  isTimed(element: Element): boolean;
  nowMs(): number;
}

/** A stored file, by its id; the second is the older name. */
const FILE_NAMES = ["file-id", "asset-id"];

export class NativeMedia {
  private readonly clips = new Map<HTMLMediaElement, NativeClip>();
  private readonly clock: Clock;
  private readonly onAdd: () => void;

  constructor(clock: Clock, onAdd: () => void) {
    this.clock = clock;
    this.onAdd = onAdd;
  }

  /** Watch the document from its very start: a source must be taken before it is loaded. */
  install(): void {
    const observer = new MutationObserver((records) => {
      for (const record of records) {
        if (record.type === "attributes") this.take(record.target);
        for (const node of record.addedNodes) this.take(node);
      }
    });
    const attributeFilter = ["src", ...FILE_NAMES];
    observer.observe(document, {
      childList: true,
      subtree: true,
      attributes: true,
      attributeFilter,
    });
    replacePlaying(this, this.clock);
  }

  all(): NativeClip[] {
    return [...this.clips.values()];
  }

  /** Those that are in the document: the others are neither seen nor heard. */
  present(): NativeClip[] {
    return this.all().filter((clip) => clip.element.isConnected);
  }

  clipOf(element: HTMLMediaElement): NativeClip {
    const known = this.clips.get(element);
    if (known !== undefined) return known;
    const clip = new NativeClip(element);
    this.clips.set(element, clip);
    this.onAdd();
    return clip;
  }

  /** One frame: every clip at its time. */
  update(): void {
    for (const clip of this.clips.values()) {
      const sourceMs = this.sourceMsOf(clip);
      if (sourceMs !== null) clip.show(sourceMs);
    }
  }

  /** Where a clip stands now; null while its group is not seen. */
  sourceMsOf(clip: NativeClip): number | null {
    if (!this.clock.isTimed(clip.element)) return clip.freeMs(this.clock.nowMs());
    const ownMs = this.clock.ownMsAround(clip.element);
    return ownMs === null ? null : clip.within(ownMs);
  }

  private take(node: Node): void {
    if (!(node instanceof Element)) return;
    for (const media of [node, ...node.querySelectorAll("video, audio, source, img")]) {
      if (media instanceof HTMLMediaElement) this.takeSource(media, media);
      else if (media instanceof HTMLSourceElement) {
        const owner = media.parentElement;
        if (owner instanceof HTMLMediaElement) this.takeSource(media, owner);
      } else if (media instanceof HTMLImageElement) showFile(media);
    }
  }

  /** Without the attribute the browser loads nothing. The first <source> is the one that counts. */
  private takeSource(holder: Element, media: HTMLMediaElement): void {
    if (media.srcObject !== null) return;
    const clip = this.clipOf(media);
    if (FILE_NAMES.some((name) => media.hasAttribute(name))) clip.ask();
    const src = holder.getAttribute("src");
    if (src === null) return;
    holder.removeAttribute("src");
    if (holder === media || clip.src === "") clip.src = src;
  }
}

/** An <img> of a stored file is an <img> from that file's address. */
function showFile(image: HTMLImageElement): void {
  const fileId = FILE_NAMES.map((name) => image.getAttribute(name)).find((id) => id !== null);
  if (fileId == null) return;
  const url = fileUrl(fileId);
  if (image.getAttribute("src") !== url) image.src = url;
}

type Getters = Record<string, (clip: NativeClip) => unknown>;

/** Let scripts see clips that are loaded and obey, though the browser knows nothing of them. */
function replacePlaying(media: NativeMedia, clock: Clock): void {
  const read = (clip: NativeClip): number => media.sourceMsOf(clip) ?? 0;
  const isOver = (clip: NativeClip): boolean =>
    !clip.element.loop && clip.info !== null && read(clip) >= clip.info.durationMs;
  const getters: Getters = {
    paused: (clip) => !clip.isPlaying,
    ended: isOver,
    duration: (clip) => (clip.info === null ? Number.NaN : clip.info.durationMs / 1000),
    readyState: (clip) => (clip.info === null ? 0 : HTMLMediaElement.HAVE_ENOUGH_DATA),
    currentSrc: (clip) => clip.src,
    seeking: () => false,
    error: () => null,
  };
  const clipOf = (element: HTMLMediaElement): NativeClip => media.clipOf(element);
  const prototype = HTMLMediaElement.prototype;
  for (const [name, getter] of Object.entries(getters))
    defineGetter(prototype, name, clipOf, getter);
  defineGetter(HTMLVideoElement.prototype, "videoWidth", clipOf, (clip) => clip.info?.widthPx ?? 0);
  defineGetter(
    HTMLVideoElement.prototype,
    "videoHeight",
    clipOf,
    (clip) => clip.info?.heightPx ?? 0,
  );
  Object.defineProperty(prototype, "src", {
    configurable: true,
    enumerable: true,
    get(this: HTMLMediaElement) {
      return clipOf(this).src;
    },
    set(this: HTMLMediaElement, src: unknown) {
      clipOf(this).src = String(src);
    },
  });
  Object.defineProperty(prototype, "currentTime", {
    configurable: true,
    enumerable: true,
    get(this: HTMLMediaElement) {
      return read(clipOf(this)) / 1000;
    },
    set(this: HTMLMediaElement, seconds: number) {
      clipOf(this).seek(seconds * 1000, clock.nowMs());
    },
  });
  prototype.play = function play(this: HTMLMediaElement): Promise<void> {
    clipOf(this).setPlaying(true, clock.nowMs());
    this.dispatchEvent(new Event("play"));
    return Promise.resolve();
  };
  prototype.pause = function pause(this: HTMLMediaElement): void {
    clipOf(this).setPlaying(false, clock.nowMs());
    this.dispatchEvent(new Event("pause"));
  };
  prototype.load = function load(): void {};
}

function defineGetter(
  prototype: object,
  name: string,
  clipOf: (element: HTMLMediaElement) => NativeClip,
  getter: (clip: NativeClip) => unknown,
): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    enumerable: true,
    get(this: HTMLMediaElement) {
      return getter(clipOf(this));
    },
  });
}
