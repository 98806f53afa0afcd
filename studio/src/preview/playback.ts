/**
 * The position in the film, and playing from it.
 *
 * A frame that is not here yet stops the clock until enough of those that follow have come, so no
 * frame is left out, and the second time everything plays at its speed.
 */

import { signal } from "@preact/signals";
import { Frames } from "./frames.ts";
import { framesIn, readRate, secondsOf, type Composition, type Rate } from "./model.ts";
import { silentClock, Sound, type PlayClock } from "./sound.ts";

const AHEAD_FRAMES = 48;
const RESUME_FRAMES = 12;
const AROUND_FRAMES = 4;
/** So many frames are decoded before they are due: decoding takes longer than a frame may be late. */
const DECODED_FRAMES = 5;

export type Draw = (picture: ImageBitmap, frame: number) => void;

export class Playback {
  readonly frame = signal(0);
  readonly isPlaying = signal(false);
  readonly isWaiting = signal(false);
  readonly isMuted = signal(false);
  readonly isLooping = signal(false);
  readonly speed = signal(1);
  /** First and last frame of the part that is repeated; null is the whole film. */
  readonly range = signal<[first: number, last: number] | null>(null);
  readonly frames = signal<Frames | null>(null);
  draw: Draw = () => undefined;

  rate: Rate = { numerator: 30, denominator: 1 };
  private readonly sound = new Sound();
  private hasSound: boolean | null = false;
  private clock: PlayClock | null = null;
  private origin = 0;
  private isDrawing = false;
  private timer = 0;

  get count(): number {
    return this.frames.value?.count ?? 0;
  }

  /** Shows another version at the same place. */
  show(composition: Composition): void {
    const wasPlaying = this.isPlaying.value;
    this.stopClock();
    this.frames.value?.close();
    this.rate = readRate(composition.fps);
    this.hasSound = composition.has_sound;
    this.frames.value = new Frames(composition);
    const last = Math.max(0, this.count - 1);
    this.frame.value = Math.min(this.frame.value, last);
    const range = this.range.value;
    if (range !== null) {
      const [first, end] = [Math.min(range[0], last), Math.min(range[1], last)];
      this.range.value = first < end ? [first, end] : null;
    }
    if (this.count === 0) return;
    this.request();
    if (wasPlaying) this.resume();
    else void this.drawCurrent();
  }

  async toggle(): Promise<void> {
    if (this.isPlaying.value) this.pause();
    else await this.play();
  }

  async play(): Promise<void> {
    if (this.count === 0) return;
    const [first, last] = this.bounds();
    if (this.frame.value >= last || this.frame.value < first) this.frame.value = first;
    this.isPlaying.value = true;
    if (this.hasSound !== false) await this.sound.unlock();
    this.resume();
  }

  pause(): void {
    this.isPlaying.value = false;
    this.isWaiting.value = false;
    this.stopClock();
    this.request();
    void this.drawCurrent();
  }

  seek(frame: number): void {
    if (this.count === 0) return;
    this.frame.value = Math.max(0, Math.min(this.count - 1, Math.round(frame)));
    const frames = this.frames.value;
    if (frames !== null) frames.problem.value = null;
    this.stopClock();
    this.request();
    if (this.isPlaying.value) this.resume();
    else void this.drawCurrent();
  }

  step(frames: number): void {
    if (this.isPlaying.value) this.pause();
    this.seek(this.frame.value + frames);
  }

  setSpeed(speed: number): void {
    this.speed.value = speed;
    this.restart();
  }

  setMuted(isMuted: boolean): void {
    this.isMuted.value = isMuted;
    if (this.hasSound !== false) this.sound.setMuted(isMuted);
  }

  /** The part to repeat begins, or ends, at the frame that is shown. */
  mark(end: "first" | "last"): void {
    const last = Math.max(0, this.count - 1);
    const [first, final] = this.range.value ?? [0, last];
    const range: [number, number] =
      end === "first" ? [this.frame.value, final] : [first, this.frame.value];
    if (range[0] >= range[1]) range[end === "first" ? 1 : 0] = end === "first" ? last : 0;
    this.range.value = range[0] < range[1] ? range : null;
    this.isLooping.value = true;
    this.request();
    this.restart();
  }

  toggleLoop(): void {
    this.isLooping.value = !this.isLooping.value;
    // The sound ends with the part that is played.
    this.restart();
  }

  private bounds(): [first: number, last: number] {
    const whole: [number, number] = [0, Math.max(0, this.count - 1)];
    return this.isLooping.value ? (this.range.value ?? whole) : whole;
  }

  /** Goes on from the present frame, as soon as it is here. */
  private resume(): void {
    const frames = this.frames.value;
    if (frames === null) return;
    this.origin = this.frame.value;
    this.loadSound(frames.version);
    this.request();
    cancelAnimationFrame(this.timer);
    this.timer = requestAnimationFrame(this.tick);
  }

  private restart(): void {
    if (!this.isPlaying.value) return;
    this.stopClock();
    this.resume();
  }

  private loadSound(version: string): void {
    if (this.hasSound === false) return;
    const wasLoaded = this.sound.isLoaded;
    void this.sound.load(version).then(
      (isHeard) => {
        if (isHeard && !wasLoaded) this.restart();
      },
      () => undefined,
    );
  }

  private readonly tick = (): void => {
    if (!this.isPlaying.value) return;
    this.timer = requestAnimationFrame(this.tick);
    const frames = this.frames.value;
    if (frames === null) return;
    if (frames.problem.value !== null) return this.pause();
    if (this.clock === null) return this.startWhenReady(frames);
    const [first, last] = this.bounds();
    const passed = framesIn(this.clock.seconds(), this.speed.value, this.rate);
    const next = this.origin + passed;
    if (next > last) return this.reachEnd(first, last);
    if (next === this.frame.value) return;
    if (!frames.has(next)) {
      this.stopClock();
      this.origin = this.frame.value = next;
      this.request();
      return;
    }
    this.frame.value = next;
    const picture = frames.decodedPicture(next);
    if (picture !== null) this.draw(picture, next);
    else void this.drawCurrent();
    this.request();
  };

  private startWhenReady(frames: Frames): void {
    const [, last] = this.bounds();
    const until = Math.min(last, this.frame.value + RESUME_FRAMES);
    for (let frame = this.frame.value; frame <= until; frame += 1) {
      if (!frames.has(frame)) {
        this.isWaiting.value = true;
        return;
      }
    }
    this.isWaiting.value = false;
    const picture = frames.decodedPicture(this.frame.value);
    if (picture === null) return void frames.picture(this.frame.value);
    this.origin = this.frame.value;
    this.draw(picture, this.frame.value);
    const [from, to] = [this.frame.value, last + 1].map((frame) => secondsOf(frame, this.rate));
    this.clock = this.sound.play(from!, to!, this.speed.value) ?? silentClock();
  }

  private reachEnd(first: number, last: number): void {
    if (!this.isLooping.value) {
      this.frame.value = last;
      return this.pause();
    }
    this.stopClock();
    this.frame.value = first;
    this.resume();
  }

  private stopClock(): void {
    this.clock?.stop();
    this.clock = null;
  }

  /** Asks for what is needed next: while playing what follows, else some frames around. */
  private request(): void {
    const frames = this.frames.value;
    if (frames === null) return;
    const [first, last] = this.bounds();
    const ahead = this.isPlaying.value ? AHEAD_FRAMES : AROUND_FRAMES;
    const wanted: number[] = [];
    for (let frame = this.frame.value; wanted.length < ahead; frame += 1) {
      if (frame <= Math.max(last, this.frame.value)) wanted.push(frame);
      else if (this.isPlaying.value && this.isLooping.value && frame - last <= last - first) {
        wanted.push(first + frame - last - 1);
      } else break;
    }
    frames.want(wanted.filter((frame) => frame < this.count));
    for (const frame of wanted.slice(0, DECODED_FRAMES)) void frames.picture(frame);
  }

  /** Draws the present frame when it is here; a newer one replaces it. */
  private async drawCurrent(): Promise<void> {
    if (this.isDrawing) return;
    this.isDrawing = true;
    try {
      for (;;) {
        const frames = this.frames.value;
        const frame = this.frame.value;
        if (frames === null) return;
        const picture = await frames.picture(frame);
        if (picture !== null && frames === this.frames.value) this.draw(picture, frame);
        const isCurrent = frames === this.frames.value && frame === this.frame.value;
        if (isCurrent && picture !== null) return;
        if (isCurrent && frames.problem.value !== null) return;
        if (isCurrent) await frames.change();
      }
    } finally {
      this.isDrawing = false;
    }
  }
}
