/**
 * What video and sound have in common: a source, its facts, a gain.
 *
 * In a render the facts come from the renderer; in a tab they come from a native player, which
 * then also does the playing.
 */

import {
  isHosted,
  keyOf,
  mediaInfo,
  playedInfo,
  type MediaInfo,
  type MediaSource,
} from "../host.ts";
import { NativePlayer } from "../native_player.ts";
import { selectorOf } from "../selector.ts";
import { GainCurve } from "../timing/gain_curve.ts";
import { sourceTimeMs } from "../timing/model.ts";
import { parseNumber } from "../timing/parse.ts";
import { reflect, TimedElement, timeTree } from "./timed.ts";
import { readSource, type Reading } from "./source.ts";

const SOURCE_NAMES = ["src", "file-id", "fileid", "asset-id", "assetid"];
const GAIN_NAMES = ["volume", "mute", "muted"];

export abstract class MediaElement extends TimedElement {
  static override get observedAttributes(): string[] {
    return [
      ...[...TimedElement.observedAttributes, ...SOURCE_NAMES, ...GAIN_NAMES],
      ...["current-time", "currenttime"],
    ];
  }

  abstract readonly mediaKind: "video" | "audio";

  /** Known once it is not pending; null for an element without a source. */
  info: MediaInfo | null = null;
  /** How loud it was until now, in the film's time. */
  readonly gains = new GainCurve(1, () => timeTree.clock.frameMs());
  protected player: NativePlayer | null = null;
  private askedFor = "";
  private refusal = "";
  private answered: Promise<void> = Promise.resolve();

  override get isMedia(): boolean {
    return true;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.ask();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.player?.pause();
  }

  override attributeChangedCallback(name: string, before: string | null, after: string | null) {
    super.attributeChangedCallback(name, before, after);
    if (GAIN_NAMES.includes(name)) this.gains.set(timeTree.clock.nowMs(), this.gain);
    if (SOURCE_NAMES.includes(name) && this.isConnected) this.ask();
  }

  get source(): MediaSource | null {
    return this.reading().source;
  }

  /** Resolves when the length of the source is known, or known to be unknown. */
  whenKnown(): Promise<void> {
    return this.answered;
  }

  /** 0 and more; 1 is the source as it is. */
  get gain(): number {
    if (isTrue(this.attribute("mute")) || isTrue(this.attribute("muted"))) return 0;
    return Math.max(0, parseNumber(this.attribute("volume")) ?? 1);
  }

  /** The one source instant that is shown, when the author pins one. */
  get pinnedMs(): number | null {
    return null;
  }

  override intrinsicMs(): number | null {
    return this.pinnedMs === null ? (this.info?.durationMs ?? null) : null;
  }

  override pending(): string[] {
    const isWaiting = this.source !== null && this.info === null && this.refusal === "";
    return isWaiting ? [`media of ${selectorOf(this)}`] : [];
  }

  override failure(): string {
    const problem = this.reading().problem || this.refusal;
    return problem === "" ? "" : `${selectorOf(this)}: ${problem}`;
  }

  /** The source time at that instant of the own clock. */
  sourceMsAt(ownMs: number): number {
    return this.pinnedMs ?? sourceTimeMs(this.span, ownMs);
  }

  /** The source time that is heard; null where its picture is held, in silence. */
  heardMsAt(ownMs: number): number | null {
    const { sourceInMs, sourceOutMs } = this.span;
    const isOver = sourceOutMs !== null && sourceInMs + ownMs >= sourceOutMs;
    return isOver || this.pinnedMs !== null ? null : sourceInMs + ownMs;
  }

  /** Preview only: whether the native player should run on by itself. */
  play(ownMs: number, isPlaying: boolean): void {
    this.player?.sync(this.sourceMsAt(ownMs), {
      isPlaying: isPlaying && this.heardMsAt(ownMs) !== null,
      gain: this.gain,
    });
  }

  private reading(): Reading {
    return readSource({
      src: this.getAttribute("src"),
      fileId: this.attribute("file-id", "asset-id"),
    });
  }

  private ask(): void {
    const { source } = this.reading();
    const key = source === null ? "" : keyOf(source);
    if (key === this.askedFor) return;
    this.askedFor = key;
    this.info = null;
    this.refusal = "";
    timeTree.invalidate();
    if (source !== null) this.answered = this.loadInfo(source, key);
  }

  private async loadInfo(source: MediaSource, key: string): Promise<void> {
    try {
      const info = await this.infoOf(source);
      if (key === this.askedFor) this.info = info;
    } catch (error) {
      const attribute =
        source.fileId === null ? `src="${source.src}"` : `file-id="${source.fileId}"`;
      const reason = error instanceof Error ? error.message : String(error);
      if (key === this.askedFor) this.refusal = `${attribute}: ${reason}`;
    }
    timeTree.invalidate();
  }

  private infoOf(source: MediaSource): Promise<MediaInfo> {
    if (isHosted()) return this.mediaKind === "video" ? mediaInfo(source) : playedInfo(source);
    this.player?.pause();
    this.player = new NativePlayer(source);
    return this.player.info();
  }
}

/** Boolean attributes are true by being there; frameworks also write "false". */
function isTrue(value: string | null): boolean {
  return value !== null && value !== "false";
}

reflect(MediaElement.prototype, {
  src: "src",
  fileId: "file-id",
  assetId: "asset-id",
  mute: "mute",
  muted: "muted",
  volume: "volume",
});
