/** What an element plays, put into a graph of Web Audio just as it is played. */

import { fetchSound } from "../host.ts";
import type { PlannedMedia } from "../plan.ts";
import type { Run } from "./audio_clock.ts";

/** All that an element has played until an instant of the film. */
export type Played = (untilMs: number) => readonly PlannedMedia[];

interface Film {
  nowMs(): number;
  warn(warning: string): void;
  /** Take the sound of an element out of the film. */
  route(element: HTMLMediaElement): Played;
}

/** Sources are decoded to this rate. */
const SOURCE_HZ = 48_000;
const CHANNELS = 2;

const { start } = AudioBufferSourceNode.prototype;

/** Samples `from` to `to - 1` of the film, at the rate of sources. */
interface Part {
  readonly from: number;
  readonly to: number;
}

export class ElementSound {
  private readonly node: AudioNode;
  private readonly film: Film;
  private readonly played: Played;
  private readonly sinceMs: number;

  constructor(node: AudioNode, film: Film, element: HTMLMediaElement) {
    this.node = node;
    this.film = film;
    this.sinceMs = film.nowMs();
    this.played = film.route(element);
  }

  /** Have all of it sound that belongs to a run, which is rendered next. */
  feed(run: Run, rateHz: number): void {
    const perSample = SOURCE_HZ / rateHz;
    const runFrom = run.place * perSample;
    const runTo = (run.place + run.to - run.from) * perSample;
    for (const piece of this.played((runTo * 1000) / SOURCE_HZ)) {
      const part = {
        from: Math.round(Math.max(runFrom, toSample(Math.max(piece.startMs, this.sinceMs)))),
        to: Math.round(Math.min(runTo, toSample(piece.endMs))),
      };
      if (part.to <= part.from || (piece.gain === 0 && piece.gains.length === 0)) continue;
      this.play(piece, part, (run.from + (part.from - runFrom) / perSample) / rateHz);
    }
  }

  private play(piece: PlannedMedia, part: Part, whenS: number): void {
    const { rate } = piece;
    if (rate !== 1 && piece.keepsPitch) {
      this.film.warn(`${piece.element}: through Web Audio its pitch follows its playbackRate`);
    }
    const count = (part.to - part.from) * rate;
    const at = sourceSample(piece, part.from);
    const first = Math.floor(at);
    // What lies between two samples needs the one after.
    const length = rate === 1 ? count : Math.ceil(at - first + count) + 1;
    const samples = fetchSound(piece, first, length);
    const buffer = new AudioBuffer({ numberOfChannels: CHANNELS, length, sampleRate: SOURCE_HZ });
    for (let channel = 0; channel < CHANNELS; channel += 1) {
      const values = buffer.getChannelData(channel);
      for (let n = 0; n < length; n += 1) {
        const gain = gainAt(piece, ((part.from + n / rate) * 1000) / SOURCE_HZ);
        values[n] = gain * (samples[CHANNELS * n + channel] ?? 0);
      }
    }
    const source = new AudioBufferSourceNode(this.node.context, { buffer, playbackRate: rate });
    source.connect(this.node);
    start.call(source, whenS, (at - first) / SOURCE_HZ, count / SOURCE_HZ);
  }
}

function toSample(ms: number): number {
  return (ms * SOURCE_HZ) / 1000;
}

/** Placed as it would be in the film's own mix. */
function sourceSample(piece: PlannedMedia, place: number): number {
  if (piece.rate === 1) return place - Math.round(toSample(piece.startMs - piece.sourceInMs));
  return toSample(piece.sourceInMs) + (place - toSample(piece.startMs)) * piece.rate;
}

function gainAt({ gain, gains }: PlannedMedia, ms: number): number {
  const next = gains.findIndex(([atMs]) => atMs > ms);
  const after = gains[next];
  const before = gains[(next < 0 ? gains.length : next) - 1];
  if (before === undefined) return gain * (after?.[1] ?? 1);
  if (after === undefined) return gain * before[1];
  const share = (ms - before[0]) / (after[0] - before[0]);
  return gain * (before[1] + share * (after[1] - before[1]));
}
