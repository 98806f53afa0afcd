/**
 * <framekiln-player src captions thumbnails waveform poster label>: plays a link of the service on
 * any page. Without a framework, because every page that embeds it has to load it.
 */

import { clockTime, isPlaylist, loudness, tileAt, type Waveform } from "./sheet.ts";
import { STYLE } from "./style.ts";

// Captions first: they decide how the film is fetched.
const ATTRIBUTES = ["captions", "src", "thumbnails", "waveform", "poster", "label"] as const;
const STEP_S = 5;
const PREVIEW_PX = 160;
const WAVEFORM_PARTS = 400;

const PARTS = `
<div class="player" part="player">
  <video playsinline preload="metadata"></video>
  <p class="failure" role="alert" hidden></p>
  <div class="bar" part="controls">
    <button class="play" aria-label="Play"></button>
    <div class="scrub">
      <canvas class="wave" width="${WAVEFORM_PARTS}" height="32" aria-hidden="true" hidden></canvas>
      <input class="seek" type="range" min="0" max="0" step="any" value="0" aria-label="Position" />
      <div class="preview" hidden><canvas></canvas><span></span></div>
    </div>
    <output class="time">0:00</output>
    <button class="mute" aria-label="Mute" aria-pressed="false"></button>
    <button class="captions" aria-label="CC: captions" aria-pressed="false" hidden>CC</button>
    <button class="full" aria-label="Full screen" aria-pressed="false"></button>
  </div>
</div>`;

class FramekilnPlayer extends HTMLElement {
  static readonly observedAttributes = ATTRIBUTES;

  readonly #root = this.attachShadow({ mode: "open" });
  readonly #video: HTMLVideoElement;
  readonly #seek: HTMLInputElement;
  #isShown = false;
  #close = (): void => undefined;
  #sheet: HTMLImageElement | null = null;
  #wave: Waveform | null = null;

  constructor() {
    super();
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [style];
    this.#root.innerHTML = PARTS;
    this.#video = this.#find("video");
    this.#seek = this.#find(".seek");
    this.#listen();
  }

  /** For scripts of the page. */
  get video(): HTMLVideoElement {
    return this.#video;
  }

  connectedCallback(): void {
    if (!this.hasAttribute("tabindex")) this.tabIndex = 0;
    if (!this.hasAttribute("role")) this.setAttribute("role", "region");
    if (!this.hasAttribute("label")) this.#apply("label", null);
    this.#isShown = true;
    for (const name of ATTRIBUTES) {
      if (this.hasAttribute(name)) this.#apply(name, this.getAttribute(name));
    }
  }

  disconnectedCallback(): void {
    this.#isShown = false;
    this.#close();
    this.#close = () => undefined;
    this.#video.removeAttribute("src");
    this.#video.load();
  }

  attributeChangedCallback(name: string, before: string | null, value: string | null): void {
    if (this.#isShown && before !== value) this.#apply(name as (typeof ATTRIBUTES)[number], value);
  }

  #apply(name: (typeof ATTRIBUTES)[number], value: string | null): void {
    switch (name) {
      case "src":
        return this.#load(value);
      case "captions":
        return this.#caption(value);
      case "thumbnails":
        return this.#loadSheet(value);
      case "waveform":
        return void this.#loadWave(value);
      case "poster":
        this.#video.poster = value ?? "";
        return;
      case "label":
        this.setAttribute("aria-label", value ?? "Video");
    }
  }

  #load(address: string | null): void {
    this.#close();
    this.#close = () => undefined;
    this.#fail(null);
    if (address === null) return this.#video.removeAttribute("src");
    const isNative = this.#video.canPlayType("application/vnd.apple.mpegurl") !== "";
    if (!isPlaylist(address) || (isNative && !("MediaSource" in window))) {
      this.#video.src = address;
      return;
    }
    let isGone = false;
    this.#close = () => {
      isGone = true;
    };
    import("hls.js/light").then(
      ({ default: Hls }) => {
        if (isGone) return;
        const hls = new Hls();
        hls.on(Hls.Events.ERROR, (_, data) => {
          if (!data.fatal) return;
          const isMedia = data.type === Hls.ErrorTypes.MEDIA_ERROR;
          this.#fail(isMedia ? "this browser does not know its format" : "it could not be loaded");
        });
        hls.loadSource(new URL(address, location.href).href);
        hls.attachMedia(this.#video);
        this.#close = () => hls.destroy();
      },
      () => this.#fail("its player could not be loaded"),
    );
  }

  #caption(address: string | null): void {
    this.#video.querySelector("track")?.remove();
    this.#find<HTMLElement>(".captions").hidden = address === null;
    if (address === null) return;
    // Browsers read captions of another origin only then.
    this.#video.crossOrigin = "anonymous";
    const track = document.createElement("track");
    Object.assign(track, { kind: "captions", label: "Captions", src: address });
    this.#video.append(track);
    track.track.mode = "hidden";
  }

  #loadSheet(address: string | null): void {
    this.#sheet = null;
    if (address === null) return;
    const sheet = new Image();
    sheet.onload = () => {
      this.#sheet = sheet;
    };
    sheet.src = address;
  }

  async #loadWave(address: string | null): Promise<void> {
    this.#wave = null;
    try {
      const response = address === null ? null : await fetch(address);
      if (response?.ok) this.#wave = (await response.json()) as Waveform;
    } catch {
      // The film plays without it.
    }
    this.#find<HTMLElement>(".wave").hidden = this.#wave === null;
    this.#drawWave();
  }

  #listen(): void {
    const video = this.#video;
    for (const name of ["play", "pause", "ended", "volumechange"]) {
      video.addEventListener(name, () => this.#show());
    }
    for (const name of ["timeupdate", "durationchange", "seeked"]) {
      video.addEventListener(name, () => this.#showTime());
    }
    // Browsers do not tell the two from each other.
    const unreadable = "it could not be loaded, or this browser does not know its format";
    video.addEventListener("error", () => this.#fail(unreadable));
    video.addEventListener("click", () => this.#toggle());
    this.#seek.addEventListener("input", () => {
      video.currentTime = Number(this.#seek.value);
      this.#showTime();
    });
    const scrub = this.#find<HTMLElement>(".scrub");
    scrub.addEventListener("pointermove", (event) => this.#preview(event));
    scrub.addEventListener("pointerleave", () => this.#preview(null));
    this.#click(".play", () => this.#toggle());
    this.#click(".mute", () => (video.muted = !video.muted));
    this.#click(".captions", () => this.#toggleCaptions());
    this.#click(".full", () => this.#toggleFullScreen());
    this.addEventListener("keydown", (event) => this.#key(event));
    this.addEventListener("fullscreenchange", () => this.#show());
    this.#show();
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.composedPath()[0];
    const isButton = target instanceof HTMLButtonElement;
    const video = this.#video;
    const actions: Record<string, () => unknown> = {
      k: () => this.#toggle(),
      m: () => (video.muted = !video.muted),
      c: () => this.#toggleCaptions(),
      f: () => this.#toggleFullScreen(),
      ArrowLeft: () => this.#goTo(video.currentTime - STEP_S),
      ArrowRight: () => this.#goTo(video.currentTime + STEP_S),
      ArrowUp: () => (video.volume = Math.min(1, video.volume + 0.1)),
      ArrowDown: () => (video.volume = Math.max(0, video.volume - 0.1)),
      Home: () => this.#goTo(0),
      End: () => this.#goTo(video.duration),
    };
    const action = event.key === " " && !isButton ? actions["k"] : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  #goTo(seconds: number): void {
    const { duration } = this.#video;
    // It has none before it is loaded.
    if (duration > 0) this.#video.currentTime = Math.max(0, Math.min(duration, seconds));
  }

  #toggle(): void {
    if (this.#video.paused) void this.#video.play().catch(() => this.#show());
    else this.#video.pause();
  }

  #toggleCaptions(): void {
    const track = this.#video.querySelector("track")?.track;
    if (track === undefined) return;
    track.mode = track.mode === "showing" ? "hidden" : "showing";
    this.#show();
  }

  #toggleFullScreen(): void {
    if (document.fullscreenElement === this) void document.exitFullscreen();
    else void this.requestFullscreen().catch(() => undefined);
  }

  #show(): void {
    const { paused, muted } = this.#video;
    const hasCaptions = this.#video.querySelector("track")?.track.mode === "showing";
    const isFull = document.fullscreenElement === this;
    this.#find(".play").setAttribute("aria-label", paused ? "Play" : "Pause");
    this.#find(".play").classList.toggle("playing", !paused);
    for (const [name, isOn] of [
      [".mute", muted],
      [".captions", hasCaptions],
      [".full", isFull],
    ] as const) {
      this.#find(name).setAttribute("aria-pressed", String(isOn));
    }
  }

  #showTime(): void {
    const { currentTime, duration } = this.#video;
    const end = Number.isFinite(duration) ? duration : 0;
    this.#seek.max = String(end);
    this.#seek.value = String(currentTime);
    const text = `${clockTime(currentTime)} / ${clockTime(end)}`;
    this.#seek.setAttribute("aria-valuetext", text);
    this.#find(".time").textContent = text;
    this.#drawWave();
  }

  #drawWave(): void {
    const canvas = this.#find<HTMLCanvasElement>(".wave");
    const context = canvas.getContext("2d");
    if (context === null || this.#wave === null) return;
    const { currentTime, duration } = this.#video;
    const played = duration > 0 ? (currentTime / duration) * WAVEFORM_PARTS : 0;
    context.clearRect(0, 0, canvas.width, canvas.height);
    loudness(this.#wave, WAVEFORM_PARTS).forEach((value, x) => {
      const tall = Math.max(1, value * canvas.height);
      context.fillStyle = x < played ? "#ff9a52" : "#9aa3b2";
      context.fillRect(x, (canvas.height - tall) / 2, 1, tall);
    });
  }

  /** The thumbnail under the pointer. */
  #preview(event: PointerEvent | null): void {
    const preview = this.#find<HTMLElement>(".preview");
    const { duration } = this.#video;
    preview.hidden = event === null || !(duration > 0);
    if (event === null || preview.hidden) return;
    const { left, width } = this.#seek.getBoundingClientRect();
    const part = Math.max(0, Math.min(1, (event.clientX - left) / width));
    preview.style.left = `${100 * part}%`;
    this.#find(".preview span").textContent = clockTime(part * duration);
    const canvas = this.#find<HTMLCanvasElement>(".preview canvas");
    canvas.hidden = this.#sheet === null;
    if (this.#sheet === null) return;
    const sheet = { width: this.#sheet.naturalWidth, height: this.#sheet.naturalHeight };
    const tile = tileAt(part * duration, duration, sheet);
    canvas.width = PREVIEW_PX;
    canvas.height = Math.round((PREVIEW_PX * tile.height) / tile.width);
    const from = [tile.x, tile.y, tile.width, tile.height] as const;
    canvas.getContext("2d")?.drawImage(this.#sheet, ...from, 0, 0, canvas.width, canvas.height);
  }

  #fail(reason: string | null): void {
    const note = this.#find<HTMLElement>(".failure");
    note.hidden = reason === null;
    note.textContent = reason === null ? "" : `The film cannot be played: ${reason}.`;
  }

  #click(selector: string, act: () => void): void {
    this.#find(selector).addEventListener("click", act);
  }

  #find<E extends Element = Element>(selector: string): E {
    return this.#root.querySelector(selector) as E;
  }
}

if (!customElements.get("framekiln-player")) {
  customElements.define("framekiln-player", FramekilnPlayer);
}
