/**
 * The page contract, version 2. The renderer puts this script before all others and then talks
 * to `__framekiln` only; `capture/page.py` is the other side. In a tab without a renderer the same
 * script shows the composition and plays it.
 */

import { AuthorActivity } from "./author_activity.ts";
import { Bridge, type OwnRuntime } from "./bridge.ts";
import { ExactClock, frameTimeMs, type FrameRate, type Zero } from "./clock.ts";
import { replaceDecode } from "./decoded_images.ts";
import { Driver, isSeen } from "./driver.ts";
import { registerElements } from "./elements/register.ts";
import { timeTree } from "./elements/timed.ts";
import { asyncWork } from "./elements/timegroup.ts";
import { FailedScripts } from "./failed_scripts.ts";
import { EarlyAnimations } from "./early_animations.ts";
import type { FilmClock } from "./film_clock.ts";
import { describeInputs } from "./frame_inputs.ts";
import { areFramesOnlyNoted } from "./frame_canvas.ts";
import { adaptLibraries } from "./library_clocks.ts";
import { useHost, type HostConfig } from "./host.ts";
import { fetchAllParts } from "./ranged_fetch.ts";
import { findMistakes } from "./mistakes.ts";
import { MotionListeners } from "./motion/motion_listeners.ts";
import type { PosePlace } from "./motion/layer_pose.ts";
import { PageLayers } from "./motion/page_layers.ts";
import { replaceDrawing } from "./native_drawing.ts";
import { NativeMedia } from "./native_media.ts";
import { installPageTime, restartAnimations, scriptMs } from "./page_time.ts";
import { makePlan, plannedMedia, playedOf } from "./plan.ts";
import { usePlayback } from "./playback.ts";
import { PageWorkers } from "./page_workers.ts";
import { Player } from "./player.ts";
import { seededRandom } from "./random.ts";
import { Readiness } from "./readiness.ts";
import { Requests } from "./requests.ts";
import { placeRoot } from "./root_box.ts";
import { Tailwind } from "./tailwind.ts";
import { imagesOfPage } from "./shadow_roots.ts";
import { stillUntil } from "./still_frames.ts";
import { replaceTimerWorkers } from "./timer_worker.ts";
import { findTracks } from "./tracks.ts";
import { WebAudio } from "./web_audio/web_audio.ts";

const VERSION = 2;

declare const __FRAMEKILN_CONFIG__: HostConfig;

function installHosted(config: HostConfig): void {
  useHost(config);
  const requestFrame = window.requestAnimationFrame.bind(window);
  const clock = new ExactClock(performance.now.bind(performance));
  const frames = installPageTime(clock, config.epochMs);
  // By the exact clock, and before what authors set is noticed.
  const setTimer = window.setTimeout.bind(window);
  const stopTimer = window.clearTimeout.bind(window);
  const activity = new AuthorActivity();
  activity.install();
  const listeners = new MotionListeners();
  listeners.install();
  window.fetch = fetchAllParts(window.fetch.bind(window));
  const requests = new Requests();
  requests.install();
  Math.random = seededRandom(config.seed);

  const failedScripts = new FailedScripts();
  failedScripts.install();
  const earlyAnimations = new EarlyAnimations();

  const loop = new FrameLoop(requestFrame, (roughMs) => clock.enterFrame(roughMs));
  let frameRate: FrameRate | null = null;
  const filmClock: FilmClock = {
    ...COMPOSITION_CLOCK,
    nowMs: () => {
      if (areFramesOnlyNoted()) return timeTree.nowMs;
      return frameRate === null ? 0 : clock.now();
    },
    frameMs: () => (frameRate === null ? 0 : frameTimeMs(1, frameRate)),
    hasBegun: () => frameRate !== null,
    after: (delayMs, call) => setTimer(call, delayMs),
    cancel: (handle) => stopTimer(handle),
  };
  timeTree.clock = filmClock;
  const natives = new NativeMedia(filmClock, () => loop.wake());
  const driver = new Driver(natives);
  loop.driver = driver;
  const tailwind = new Tailwind();
  const webAudio = new WebAudio(clock, (element, nowMs) => {
    const clip = natives.clipOf(element);
    clip.routedMs ??= nowMs;
    return (untilMs) => playedOf(clip, untilMs);
  });
  const workers = new PageWorkers();
  if (config.definesElements !== false) {
    natives.install();
    workers.install();
    webAudio.install();
    replaceTimerWorkers();
    replaceDrawing();
    replaceDecode();
    registerElements();
    tailwind.watch();
  }
  timeTree.onAdd = () => loop.wake();
  const bridge = installBridge(config);
  const readiness = new Readiness(
    bridge === null ? [driver, tailwind, webAudio, requests, workers] : [bridge],
  );
  let hasDrawn = false;
  const layers = new PageLayers(driver, listeners, requestFrame);
  listeners.watchObservers();
  publish({
    pending: () => readiness.pending(),
    failure: () => readiness.failure(),
    plan: () => {
      const isScripted = activity.hasAny || webAudio.hasAny || workers.hasAny;
      return bridge?.plan() ?? makePlan(natives, isScripted || listeners.hasAnyInPage());
    },
    mistakes: () => findMistakes(failedScripts, config.definesElements !== false),
    media: (filmMs: number) => (bridge === null ? plannedMedia(natives, filmMs) : []),
    images: () => imagesOfPage(),
    tracks: (filmMs: number) => (bridge === null ? findTracks(natives, filmMs) : []),
    framesBefore: (frame: number, rate: FrameRate) => driver.framesBefore(frame, rate),
    stillUntil: (frame: number, rate: FrameRate, count: number) => stillUntil(frame, rate, count),
    frameInputs: (rate: FrameRate, count: number) => describeInputs(rate, count),
    ...(bridge === null ? {} : bridgeContract(bridge)),
    advanceSound: (atMs: number) => webAudio.advance(atMs),
    soundState: () => webAudio.state(),
    takeSound: () => webAudio.take(),
    frameDone: () => asyncWork.pending().length === 0,
    repeat: () => {
      loop.repeat();
      frames.repeat();
    },
    beginRecording: (zero: Zero, rate: FrameRate) => {
      clock.begin(zero, rate);
      adaptLibraries(rate);
      const { timeline } = document;
      Object.defineProperty(timeline, "currentTime", { get: () => clock.now() });
    },
    recordFrame: (frame: number, rate: FrameRate) => {
      clock.enterInstant(frameTimeMs(frame, rate));
      layers.record(frame, rate, (exactMs) => frames.run(scriptMs(exactMs)));
    },
    closeFrame: (frame: number) => layers.closeFrame(frame),
    analyzeLayers: (rate: FrameRate, count: number, rasters: string[]) =>
      layers.analyze(rate, count, new Set(rasters)),
    sampleLayers: (first: number, count: number) => layers.sample(first, count),
    poseLayers: (wanted: number[], frame: number, place: PosePlace) =>
      layers.pose.hold(wanted, frame, place),
    paintBehind: (colour: string) => layers.pose.paintBehind(colour),
    hasPosed: () => layers.pose.hasDrawn(),
    askWorkers: () => workers.beginFrame(),
    workerDrawings: () => workers.drawings(),
    hasDrawn: () => hasDrawn,
    step: () => {
      earlyAnimations.record();
      frames.step();
    },
    rewind: (passedMs: number) => earlyAnimations.rewind(passedMs),
    begin: (zero: Zero, rate: FrameRate) => {
      clock.begin(zero, rate);
      frameRate = rate;
      natives.begin();
      webAudio.begin();
      adaptLibraries(rate);
      if (zero.tickMs > 0) restartAnimations(zero.tickMs);
      placeRoot();
      // An animated image moves on in time only in frames that the page's thread takes part in.
      requestFrame(function takePart() {
        hasDrawn = true;
        requestFrame(takePart);
      });
      // Asked for before the author's callbacks are let go: in every frame it comes first.
      loop.begin();
      frames.release();
    },
  });
}

/** For a page with elements of its own; what it holds in frames is its own affair. */
function installBridge(config: HostConfig): Bridge | null {
  if (config.definesElements !== false || window !== window.top) return null;
  const bridge = new Bridge(window as unknown as OwnRuntime, config.asksInfo === true);
  bridge.install();
  return bridge;
}

function bridgeContract(bridge: Bridge): Record<string, unknown> {
  return {
    initialize: (options: unknown) => bridge.initialize(options),
    beginFrame: (number: number, isLast: boolean) => bridge.beginFrame(number, isLast),
    frameState: () => bridge.state(),
    soundBytes: () => bridge.sound.length,
    soundPiece: (from: number, to: number) => bridge.sound.piece(from, to),
  };
}

/** Calls the driver in each frame, as long as there is anything to drive. */
class FrameLoop {
  driver: Driver | null = null;
  private readonly request: (callback: FrameRequestCallback) => number;
  private readonly exactMs: (roughMs: number) => number;
  private hasBegun = false;
  private isRunning = false;
  private isRepeat = false;

  constructor(
    request: (callback: FrameRequestCallback) => number,
    exactMs: (roughMs: number) => number,
  ) {
    this.request = request;
    this.exactMs = exactMs;
  }

  begin(): void {
    this.hasBegun = true;
    this.wake();
  }

  /** Something that may have to be driven has come into the page. */
  wake(): void {
    if (!this.hasBegun || this.isRunning || !this.driver?.hasWork) return;
    this.isRunning = true;
    this.request(this.tick);
  }

  /** The next frame drawn is the present one again. */
  repeat(): void {
    this.isRepeat = true;
  }

  private readonly tick = (roughMs: number): void => {
    this.request(this.tick);
    const nowMs = this.exactMs(roughMs);
    if (this.isRepeat) this.driver?.follow();
    else this.driver?.frame(nowMs);
    this.isRepeat = false;
  };
}

/** What native media needs of the composition's times. */
const COMPOSITION_CLOCK = {
  ownMsAround: (element: Element): number | null => {
    const place = timeTree.nearest(element);
    return place === null || !isSeen(place) ? null : timeTree.ownMs(place);
  },
  isTimed: (element: Element): boolean => timeTree.nearest(element) !== null,
};

function installPreview(): void {
  registerElements();
  const tailwind = new Tailwind();
  tailwind.watch();
  const driver = new Driver(null);
  const player = new Player(driver);
  usePlayback(player);
  const readiness = new Readiness([driver, tailwind]);
  publish({
    pending: () => readiness.pending(),
    failure: () => readiness.failure(),
    plan: () => makePlan(null, false),
  });
  player.start();
}

function publish(contract: Record<string, unknown>): void {
  const value = Object.freeze({ version: VERSION, ...contract });
  Object.defineProperty(window, "__framekiln", { value });
}

if (typeof __FRAMEKILN_CONFIG__ === "undefined") installPreview();
else installHosted(__FRAMEKILN_CONFIG__);
