/**
 * One AudioContext of the page, rendered by Chromium as far as the film has come.
 *
 * Behind it is an OfflineAudioContext, whose rendering is stopped at an instant of the film and let
 * go on to the next: so every node is real, and scripts change the graph while it stands still. Its
 * own result, which would come at its very end, is not used: what goes to the page's destination
 * is read from two analysers at each stop, sample by sample.
 */

import { AudioClock, QUANTUM, type Run } from "./audio_clock.ts";
import { ElementSound, type Played } from "./element_sound.ts";
import type { SoundPieces } from "./sound_pieces.ts";

/**
 * How long a context is heard: Chromium keeps its unused result, 11 MiB a minute, and sets memory
 * aside for all of it. A page that makes a context for each of its sounds makes many short ones.
 */
const MAX_DURATION_S = 3600;
const LONG_CONTEXTS = 4;
const MAX_FURTHER_DURATION_S = 600;
/** As many samples as an analyser remembers. */
const MAX_STEP_FRAMES = 32_768;
const CHANNELS = 2;

const Native = OfflineAudioContext;
const { suspend, resume, startRendering } = Native.prototype;
const readTime = Object.getOwnPropertyDescriptor(BaseAudioContext.prototype, "currentTime")?.get;

interface Film {
  nowMs(): number;
  warn(warning: string): void;
  /** Take the sound of an element out of the film. */
  route(element: HTMLMediaElement): Played;
}

export class RenderedContext {
  readonly native: OfflineAudioContext;
  readonly clock: AudioClock;
  /** What the page takes for its destination. */
  readonly destination: AudioNode;
  state: AudioContextState = "running";
  private readonly number: number;
  private readonly longestS: number;
  readonly film: Film;
  private readonly taps: AnalyserNode[];
  private readonly elements: ElementSound[] = [];
  private readonly latest = new Float32Array(MAX_STEP_FRAMES);
  private rendering: Promise<AudioBuffer> | null = null;
  private isOver = false;

  constructor(number: number, rateHz: number, film: Film) {
    this.number = number;
    this.film = film;
    this.longestS = number < LONG_CONTEXTS ? MAX_DURATION_S : MAX_FURTHER_DURATION_S;
    this.native = new Native(1, this.longestS * rateHz, rateHz);
    this.clock = new AudioClock(rateHz, film.nowMs());
    const mixed = new GainNode(this.native, {
      channelCount: CHANNELS,
      channelCountMode: "explicit",
    });
    const split = new ChannelSplitterNode(this.native, { numberOfOutputs: CHANNELS });
    mixed.connect(split);
    this.taps = Array.from({ length: CHANNELS }, (_, channel) => {
      const tap = new AnalyserNode(this.native, { fftSize: MAX_STEP_FRAMES, channelCount: 1 });
      // It leads nowhere: connected to the output, one of them would miss the first quantum.
      split.connect(tap, channel);
      return tap;
    });
    this.destination = asDestination(mixed);
  }

  get currentTime(): number {
    return this.clock.currentTime(this.film.nowMs());
  }

  /** From now on the sound of an element comes out of a node. */
  addElement(node: AudioNode, element: HTMLMediaElement): void {
    this.elements.push(new ElementSound(node, this.film, element));
  }

  enter(state: AudioContextState): void {
    this.state = state;
    if (state === "running") this.clock.resume(this.film.nowMs());
    else this.clock.suspend(this.film.nowMs());
  }

  /** Render what the film needs until now. */
  async advance(nowMs: number, pieces: SoundPieces): Promise<void> {
    for (const run of this.clock.due(nowMs)) {
      for (let from = run.from; from < run.to && !this.isOver; from += MAX_STEP_FRAMES) {
        const to = Math.min(from + MAX_STEP_FRAMES, run.to);
        const part = { from, to, place: run.place + from - run.from };
        for (const element of this.elements) element.feed(part, this.clock.rateHz);
        await this.render(to);
        if (this.isOver) return;
        this.keep(part, pieces);
      }
    }
  }

  private async render(to: number): Promise<void> {
    const rateHz = this.clock.rateHz;
    if (to >= this.longestS * rateHz) {
      this.isOver = true;
      const minutes = this.longestS / 60;
      this.film.warn(`an AudioContext is heard for ${minutes} minutes and has run longer`);
      return;
    }
    // Chromium rounds up to a whole quantum.
    const reached = suspend.call(this.native, (to - QUANTUM / 2) / rateHz);
    if (this.rendering === null) this.rendering = startRendering.call(this.native);
    else void resume.call(this.native);
    // It comes to its own end only by failing.
    await Promise.race([reached, this.rendering]);
    const at = Math.round((readTime?.call(this.native) as number) * rateHz);
    if (at !== to) throw new Error(`sound was rendered until sample ${at} instead of ${to}`);
  }

  private keep(run: Run, pieces: SoundPieces): void {
    const count = run.to - run.from;
    const samples = new Float32Array(CHANNELS * count);
    for (const [channel, tap] of this.taps.entries()) {
      tap.getFloatTimeDomainData(this.latest);
      const newest = this.latest.subarray(MAX_STEP_FRAMES - count);
      for (let at = 0; at < count; at += 1) samples[CHANNELS * at + channel] = newest[at] ?? 0;
    }
    const { number: context, clock } = this;
    if (samples.some((sample) => sample !== 0)) {
      pieces.add({ context, rateHz: clock.rateHz, place: run.place, samples });
    }
  }
}

/** A node that scripts take for a destination: it seems to have no output and two channels. */
function asDestination(node: AudioNode): AudioNode {
  Object.setPrototypeOf(node, AudioDestinationNode.prototype);
  Object.defineProperty(node, "maxChannelCount", { value: CHANNELS });
  Object.defineProperty(node, "numberOfOutputs", { value: 0 });
  return node;
}
