/**
 * One native <video> or <audio>: its source, its metadata, its position and its events. Where a
 * browser needs time to load, fetch or decode, this takes none.
 */

import { readSource, type Reading } from "./elements/source.ts";
import { keyOf, playedInfo, type MediaSource, type PlayedInfo } from "./host.ts";
import type { FilmClock } from "./film_clock.ts";
import { FrameCanvas } from "./frame_canvas.ts";
import { ClipEvents, ENDED, LOADED, PAUSED, SOUGHT } from "./native_events.ts";
import { VideoFrameCallbacks } from "./native_frame_callbacks.ts";
import { StandIn } from "./native_stand_in.ts";
import { selectorOf } from "./selector.ts";
import { SourceHistory, type SourcePeriod } from "./source_history.ts";
import { GainCurve } from "./timing/gain_curve.ts";
import { splitFragment, WHOLE } from "./timing/media_fragment.ts";
import { LAST_PICTURE_MS } from "./timing/model.ts";
import type { Bounds } from "./timing/play_head.ts";

export interface ClipHooks {
  /** A script wants to be called for its pictures. */
  onAsked(): void;
  /** It shows another picture after all of the frame were shown. */
  onLatePicture(): void;
}

/** As often as Chromium says how far a clip is. */
const UPDATE_MS = 250;
const MIN_ROUND_MS = 40;

export class NativeClip {
  readonly element: HTMLMediaElement;
  readonly gains: GainCurve;
  readonly frameCallbacks = new VideoFrameCallbacks();
  private readonly hooks: ClipHooks;
  info: PlayedInfo | null = null;
  /** Since when its sound goes to a node of Web Audio instead of into the film. */
  routedMs: number | null = null;
  isSeeking = false;
  private readonly clock: FilmClock;
  private readonly history = new SourceHistory();
  private readonly events: ClipEvents;
  private readonly frames: FrameCanvas | null;
  private readonly standIn: StandIn | null;
  private isStarted = false;
  private mayAutoplay = true;
  private written = "";
  /** What the address says of where it begins and pauses, as long as that counts. */
  private fragment = WHOLE;
  private askedFor = "";
  private refusal = "";
  private askedAtMs = 0;
  private endTimer = 0;
  private updateTimer = 0;
  /** The frame that shows it; null while none does. */
  private shownAtMs: number | null = null;
  private reportedMs = Number.NEGATIVE_INFINITY;
  /** Where the clock of its group stood when it was last seen; null before it is in one. */
  private groupMs: number | null = null;

  constructor(element: HTMLMediaElement, clock: FilmClock, hooks: ClipHooks) {
    this.element = element;
    this.clock = clock;
    this.hooks = hooks;
    this.gains = new GainCurve(gainOf(element), () => clock.frameMs());
    this.events = new ClipEvents(element);
    this.frames = element instanceof HTMLVideoElement ? new FrameCanvas() : null;
    this.standIn = this.frames && new StandIn(element, this.frames.canvas);
    this.turn({});
  }

  /** The address as written, wherever it was. */
  get src(): string {
    return this.written;
  }

  set src(written: string) {
    this.written = written;
    if (!this.ask()) this.load();
  }

  get source(): MediaSource | null {
    return this.reading().source;
  }

  get kind(): "video" | "audio" {
    return this.standIn === null ? "audio" : "video";
  }

  /** Whether it plays by itself, or because of the group around it. */
  get isPlaying(): boolean {
    return this.isTimed ? this.clock.ownMsAround(this.element) !== null : this.isStarted;
  }

  get isTimed(): boolean {
    return this.clock.isTimed(this.element);
  }

  /** Where it stands now; null while its group is not seen. */
  get positionMs(): number | null {
    this.followGroup();
    const atMs = this.headMs();
    return atMs === null ? null : this.history.head.positionMs(atMs, this.bounds);
  }

  get isOver(): boolean {
    if (this.info === null || this.element.loop) return false;
    return (this.positionMs ?? 0) >= this.info.durationMs;
  }

  /** Begin with the source that is written now; false if it is the same as before. */
  ask(): boolean {
    const { source } = this.reading();
    const key = source === null ? "" : keyOf(source);
    if (key === this.askedFor) return false;
    // A script may have set and started the clip before its first source was seen.
    if (this.askedFor !== "") this.endSource();
    else if (this.positionMs === 0) this.goToFragment();
    this.history.begin(source);
    this.askedFor = key;
    this.askedAtMs = this.clock.nowMs();
    this.info = null;
    this.refusal = "";
    const { defaultPlaybackRate, playbackRate } = this.element;
    if (playbackRate === 1) this.element.playbackRate = defaultPlaybackRate;
    if (source !== null) void this.loadInfo(source, key);
    return true;
  }

  /** Begin anew with the same source. */
  load(): void {
    this.rewind();
    if (this.info !== null) this.onLoaded();
  }

  pending(): string[] {
    const isWaiting = this.source !== null && this.info === null && this.refusal === "";
    return isWaiting ? [`media of ${selectorOf(this.element)}`] : [];
  }

  failure(): string {
    // Outside the document it shows nothing; the script that made it gets an error event.
    if (!this.element.isConnected) return "";
    const problem = this.reading().problem || this.refusal;
    return problem === "" ? "" : `${selectorOf(this.element)}: ${problem}`;
  }

  play(): Promise<void> {
    if (this.refusal !== "") {
      return Promise.reject(new DOMException(this.refusal, "NotSupportedError"));
    }
    this.mayAutoplay = false;
    if (this.isTimed) return this.events.whenPlaying(this.info !== null);
    if (this.isOver) this.seek(0);
    if (!this.isStarted) {
      this.isStarted = true;
      this.turn({});
      this.events.dispatch("play");
      if (this.info !== null) this.events.dispatch("playing");
    }
    return this.events.whenPlaying(this.info !== null);
  }

  pause(): void {
    this.mayAutoplay = false;
    if (!this.isStarted || this.isTimed) return;
    this.isStarted = false;
    this.turn({});
    this.events.dispatch(...PAUSED);
    this.events.giveUpPlaying("pause() was called");
  }

  /** In a group the group decides the position; the events are dispatched all the same. */
  seek(sourceMs: number): void {
    const most = this.info?.durationMs ?? Number.POSITIVE_INFINITY;
    if (sourceMs >= (this.fragment.endMs ?? 0)) this.fragment = WHOLE;
    if (!this.isTimed) this.turn({ positionMs: Math.min(Math.max(0, sourceMs), most) });
    this.isSeeking = true;
    this.showAgain();
    this.events.dispatch("seeking");
    this.events.afterwards(() => {
      this.isSeeking = false;
    });
    this.events.dispatch(...SOUGHT);
  }

  requestFrame(callback: VideoFrameRequestCallback): number {
    this.hooks.onAsked();
    return this.frameCallbacks.request(callback);
  }

  /** Volume, speed or pitch may have changed. */
  readSettings(): void {
    const gain = gainOf(this.element);
    if (gain !== this.gains.gain) this.gains.set(this.clock.nowMs(), gain);
    this.turn({});
  }

  /** A volume that is set to what it was goes on fading from there. */
  readGain(): void {
    this.gains.set(this.clock.nowMs(), gainOf(this.element));
  }

  /** The film begins: from now on time passes. */
  begin(): void {
    this.readSettings();
    this.schedule();
  }

  /** What is played of each of its sources until an instant of its own clock. */
  periods(untilMs: number): SourcePeriod[] {
    this.followGroup();
    return this.history.periods(this.info, this.bounds, untilMs);
  }

  /** One frame of the film. */
  show(): void {
    this.shownAtMs = this.clock.nowMs();
    if (gainOf(this.element) !== this.gains.gain) this.readSettings();
    const { positionMs } = this;
    if (positionMs === null) return;
    if (this.isTimed) this.dispatchProgress(positionMs);
    const { info, source } = this;
    if (this.standIn === null || this.frames === null || source === null || !info?.hasVideo) return;
    this.standIn.place(info);
    const lastMs = Math.max(0, info.durationMs - LAST_PICTURE_MS);
    const shownMs = this.frames.draw(
      source,
      info,
      Math.min(positionMs, lastMs),
      this.standIn.showsWhole,
    );
    this.frameCallbacks.run(this.clock.nowMs(), shownMs, info);
  }

  /** A script has moved it in a frame: its picture was shown before the frame's callbacks. */
  private showAgain(): void {
    if (this.isTimed || this.shownAtMs !== this.clock.nowMs()) return;
    this.shownAtMs = null;
    // After the callback, which may move it more than once.
    queueMicrotask(() => {
      this.show();
      this.hooks.onLatePicture();
    });
  }

  private get bounds(): Bounds | null {
    if (this.info === null) return null;
    const { durationMs } = this.info;
    const endMs = this.isTimed ? null : this.fragment.endMs;
    if (endMs !== null && endMs < durationMs) return { lengthMs: endMs, isLooped: false };
    return { lengthMs: durationMs, isLooped: this.element.loop };
  }

  /** The time by which its source moves: that of its group, or the film's. */
  private headMs(): number | null {
    return this.isTimed ? this.clock.ownMsAround(this.element) : this.clock.nowMs();
  }

  /** Go on from here as the element is set now. */
  private turn(change: { positionMs?: number }): void {
    const isMoving = this.isStarted || this.isTimed;
    const { playbackRate, preservesPitch } = this.element;
    const course = { ...change, rate: isMoving ? playbackRate : 0, keepsPitch: preservesPitch };
    this.history.head.turn(this.headMs() ?? this.groupMs ?? 0, course, this.bounds);
    this.schedule();
  }

  /** In a group the source begins with the group. */
  private followGroup(): void {
    if (!this.isTimed) return;
    if (this.groupMs === null) {
      const { playbackRate: rate, preservesPitch: keepsPitch } = this.element;
      this.history.head.turn(0, { positionMs: 0, rate, keepsPitch }, this.bounds);
    }
    this.groupMs = this.headMs() ?? this.groupMs ?? 0;
  }

  private endSource(): void {
    this.history.end(this.clock.nowMs(), this.info, this.bounds);
    this.groupMs = null;
    this.rewind();
  }

  private rewind(): void {
    this.isStarted = false;
    this.mayAutoplay = true;
    this.events.giveUpPlaying("another source was set");
    this.element.playbackRate = this.element.defaultPlaybackRate;
    this.goToFragment();
  }

  private goToFragment(): void {
    if (this.isTimed) return;
    this.fragment = splitFragment(this.written).fragment;
    this.turn({ positionMs: this.fragment.startMs });
  }

  /** Wake when the end comes, and now and then on the way. */
  private schedule(): void {
    this.clock.cancel(this.endTimer);
    const { bounds } = this;
    if (bounds === null || !this.clock.hasBegun() || this.isTimed || !this.isStarted) return;
    const endMs = this.history.head.endMs(bounds);
    if (endMs === null || bounds.lengthMs <= 0) return;
    // Such short rounds get no events; the position is known without timers.
    const isRestless = bounds.lengthMs < MIN_ROUND_MS * this.element.playbackRate;
    if (bounds.isLooped && isRestless) return;
    const delayMs = Math.max(0, Math.ceil(endMs - this.clock.nowMs()));
    this.endTimer = this.clock.after(delayMs, () => this.onEnd());
    if (this.updateTimer === 0) this.updateLater();
  }

  private updateLater(): void {
    this.updateTimer = this.clock.after(UPDATE_MS, () => {
      this.updateTimer = 0;
      if (!this.isStarted || this.isTimed) return;
      this.events.dispatch("timeupdate");
      this.updateLater();
    });
  }

  /** At the end of the source; a timer is up to a millisecond late, the sound is not. */
  private onEnd(): void {
    const { bounds } = this;
    const endMs = bounds === null ? null : this.history.head.endMs(bounds);
    if (bounds === null || endMs === null || !this.isStarted) return;
    if (endMs > this.clock.nowMs() + 1e-6) {
      this.schedule();
      return;
    }
    if (bounds.isLooped) {
      this.history.head.turn(endMs, { positionMs: 0 }, bounds);
      this.events.dispatch("seeking", ...SOUGHT);
      this.schedule();
      return;
    }
    this.isStarted = false;
    this.history.head.turn(endMs, { positionMs: bounds.lengthMs, rate: 0 }, bounds);
    // The next time it plays beyond its fragment, as in browsers.
    this.fragment = WHOLE;
    this.events.dispatch(...(this.isOver ? ENDED : PAUSED));
  }

  /** In a group there are no timers: frames may be left out there. */
  private dispatchProgress(positionMs: number): void {
    if (this.reportedMs === Number.NEGATIVE_INFINITY) this.events.dispatch("play", "playing");
    if (positionMs === this.reportedMs) return;
    const isOver = this.isOver;
    if (!isOver && Math.abs(positionMs - this.reportedMs) < UPDATE_MS) return;
    this.reportedMs = positionMs;
    this.events.dispatch(...(isOver ? ENDED : ["timeupdate"]));
  }

  private reading(): Reading {
    const { element } = this;
    const fileId = element.getAttribute("file-id") ?? element.getAttribute("asset-id");
    return readSource({ src: splitFragment(this.written).url, fileId });
  }

  private async loadInfo(source: MediaSource, key: string): Promise<void> {
    try {
      const info = await playedInfo(source);
      if (key !== this.askedFor) return;
      this.info = info;
      this.standIn?.place(info);
      this.onLoaded();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const attribute =
        source.fileId === null ? `src="${source.src}"` : `file-id="${source.fileId}"`;
      if (key !== this.askedFor) return;
      this.refusal = `${attribute}: ${reason}`;
      this.events.dispatch("error");
      this.events.giveUpPlaying(this.refusal, "NotSupportedError");
    }
  }

  private onLoaded(): void {
    this.events.dispatch(...LOADED);
    if (this.fragment.startMs > 0) this.events.dispatch("seeking", ...SOUGHT);
    if (this.mayAutoplay && this.element.autoplay && !this.isTimed) {
      this.isStarted = true;
      // Loading takes no time.
      this.history.head.turn(this.askedAtMs, { rate: this.element.playbackRate }, this.bounds);
      this.events.dispatch("play");
    }
    if (this.isStarted) this.events.dispatch("playing");
    this.events.startPlaying();
    this.schedule();
  }
}

function gainOf(element: HTMLMediaElement): number {
  return element.muted ? 0 : element.volume;
}
