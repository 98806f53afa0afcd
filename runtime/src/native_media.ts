/**
 * Plain <video>, <audio> and <img> in a render: found as they come, never loaded or played by the
 * browser, timed by the group around them or by the page's own scripts.
 */

import type { FilmClock } from "./film_clock.ts";
import { fileUrl } from "./host.ts";
import { NativeClip } from "./native_clip.ts";
import { NativePictures } from "./native_pictures.ts";
import { replaceProperties } from "./native_properties.ts";
import { shadowRootsIn, watchShadowRoots } from "./shadow_roots.ts";

/** A stored file, by its id; the second is the older name. */
const FILE_NAMES = ["file-id", "asset-id"];
const MEDIA = "video, audio, source, img";
const OBSERVED = {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ["src", "srcset", ...FILE_NAMES],
};

/** What happens to a clip by itself, without a script that acts again. */
const LATE_EVENTS: ReadonlySet<string> = new Set([
  ...["play", "playing", "pause", "timeupdate", "ended", "seeking", "seeked"],
]);

export class NativeMedia {
  private readonly clips = new Map<HTMLMediaElement, NativeClip>();
  private readonly pictures: NativePictures;
  private readonly clock: FilmClock;
  private readonly onAdd: () => void;
  private observe: (root: Document | ShadowRoot) => void = () => undefined;
  private isListenedTo = false;
  /** Called when a clip shows another picture after `update`. */
  onLatePicture: () => void = () => undefined;

  constructor(clock: FilmClock, onAdd: () => void) {
    this.clock = clock;
    this.onAdd = onAdd;
    this.pictures = new NativePictures(clock);
  }

  /** Watch the document from its very start: a source must be taken before it is loaded. */
  install(): void {
    const observer = new MutationObserver((records) => {
      for (const record of records) {
        if (record.type === "attributes") this.take(record.target);
        for (const node of record.addedNodes) this.take(node);
        for (const node of record.removedNodes) this.release(node);
      }
    });
    this.observe = (root) => observer.observe(root, OBSERVED);
    this.observe(document);
    watchShadowRoots(this.observe);
    // The parser may attach a root to an element that was seen without one.
    document.addEventListener("DOMContentLoaded", () => this.take(document.documentElement));
    replaceProperties((element) => this.clipOf(element));
    this.noticeListeners();
  }

  all(): NativeClip[] {
    return [...this.clips.values()];
  }

  /** Those that are in the document: the others are not seen, though they may be heard. */
  present(): NativeClip[] {
    return this.all().filter((clip) => clip.element.isConnected);
  }

  /** Whether there is anything to do in frames. */
  get hasAny(): boolean {
    return this.clips.size > 0 || this.pictures.hasAny;
  }

  /** Whether scripts wait for what happens to a clip, so that no frame may be left out. */
  get isScripted(): boolean {
    const hasHandler = ({ element }: NativeClip): boolean =>
      [...LATE_EVENTS].some(
        (name) => (element as unknown as Record<string, unknown>)[`on${name}`] !== null,
      );
    return this.isListenedTo || this.all().some(hasHandler);
  }

  clipOf(element: HTMLMediaElement): NativeClip {
    const known = this.clips.get(element);
    if (known !== undefined) return known;
    const clip = new NativeClip(element, this.clock, {
      onAsked: () => {
        this.isListenedTo = true;
      },
      onLatePicture: () => this.onLatePicture(),
    });
    this.clips.set(element, clip);
    this.onAdd();
    // One that is never put into the document is not seen by the observer.
    this.take(element);
    return clip;
  }

  /** What has to be known before frame 0. */
  pending(): string[] {
    this.pictures.check();
    return this.all().flatMap((clip) => clip.pending());
  }

  failures(): string[] {
    return this.all().map((clip) => clip.failure());
  }

  begin(): void {
    for (const clip of this.clips.values()) clip.begin();
  }

  /** One frame: every clip and animated picture at its time. */
  update(): void {
    for (const clip of this.clips.values()) clip.show();
    this.pictures.update();
  }

  private take(node: Node): void {
    if (!(node instanceof Element)) return;
    this.takeAll([node, ...node.querySelectorAll(MEDIA)]);
    for (const root of shadowRootsIn(node)) {
      this.observe(root);
      this.takeAll(root.querySelectorAll(MEDIA));
    }
  }

  private takeAll(elements: Iterable<Element>): void {
    for (const media of elements) {
      if (media instanceof HTMLMediaElement) this.takeSource(media, media);
      else if (media instanceof HTMLSourceElement) {
        const owner = media.parentElement;
        if (owner instanceof HTMLMediaElement) this.takeSource(media, owner);
      } else if (media instanceof HTMLImageElement) this.takePicture(media);
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
    const isFirst = holder === media || media.querySelector("source") === holder;
    if (isFirst || clip.src === "") clip.src = src;
  }

  private takePicture(image: HTMLImageElement): void {
    showFile(image);
    this.pictures.take(image);
    this.onAdd();
  }

  /** A clip that leaves the document stops. */
  private release(node: Node): void {
    if (!(node instanceof Element)) return;
    const inRoots = shadowRootsIn(node).flatMap((root) => [...root.querySelectorAll(MEDIA)]);
    for (const media of [node, ...node.querySelectorAll(MEDIA), ...inRoots]) {
      if (!(media instanceof HTMLMediaElement) || media.isConnected) continue;
      this.clips.get(media)?.pause();
    }
  }

  private noticeListeners(): void {
    const native = EventTarget.prototype.addEventListener;
    const notice = (): void => {
      this.isListenedTo = true;
    };
    EventTarget.prototype.addEventListener = function addEventListener(
      this: EventTarget,
      ...args: Parameters<EventTarget["addEventListener"]>
    ): void {
      if (LATE_EVENTS.has(args[0]) && concernsClips(this, args[2])) notice();
      native.apply(this, args);
    };
  }
}

/** These events do not rise: others hear them only on their way down. */
function concernsClips(
  target: EventTarget,
  options: boolean | AddEventListenerOptions | undefined,
): boolean {
  if (target instanceof HTMLMediaElement) return true;
  return typeof options === "object" ? options?.capture === true : options === true;
}

/** An <img> of a stored file is an <img> from that file's address. */
function showFile(image: HTMLImageElement): void {
  const fileId = FILE_NAMES.map((name) => image.getAttribute(name)).find((id) => id !== null);
  if (fileId == null) return;
  const url = fileUrl(fileId);
  if (image.getAttribute("src") !== url) image.src = url;
}
