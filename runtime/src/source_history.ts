/** What a clip plays of each of its sources: scripts may give it another one at any time. */

import type { MediaSource, PlayedInfo } from "./host.ts";
import { PlayHead, type Bounds, type Piece } from "./timing/play_head.ts";

/** The time in which a clip has one source. */
export interface SourcePeriod {
  readonly source: MediaSource;
  readonly info: PlayedInfo;
  /** By the clock of the clip. */
  readonly pieces: readonly Piece[];
  /** By the clock of the film. */
  readonly fromMs: number;
  readonly untilMs: number;
}

export class SourceHistory {
  /** Of the present source. */
  head = new PlayHead();
  private source: MediaSource | null = null;
  private fromMs = 0;
  private readonly earlier: SourcePeriod[] = [];

  begin(source: MediaSource | null): void {
    this.source = source;
  }

  /** The clip gets another source now. */
  end(nowMs: number, info: PlayedInfo | null, bounds: Bounds | null): void {
    // No clock of a clip is ahead of the film's.
    const ended = this.present(info, bounds, nowMs, nowMs);
    this.earlier.push(...ended.filter(({ pieces }) => pieces.length > 0));
    this.fromMs = nowMs;
    this.head = new PlayHead();
  }

  /** What is played of all sources until an instant of the clip's clock. */
  periods(info: PlayedInfo | null, bounds: Bounds | null, ownMs: number): SourcePeriod[] {
    return [...this.earlier, ...this.present(info, bounds, ownMs, Number.POSITIVE_INFINITY)];
  }

  /** Nothing while the source is unknown: then it is silent. */
  private present(
    info: PlayedInfo | null,
    bounds: Bounds | null,
    ownMs: number,
    untilMs: number,
  ): SourcePeriod[] {
    const { source, fromMs } = this;
    if (source === null || info === null || bounds === null) return [];
    return [{ source, info, pieces: this.head.pieces(bounds, ownMs), fromMs, untilMs }];
  }
}
