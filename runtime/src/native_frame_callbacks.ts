/** requestVideoFrameCallback: called in each frame of the film that shows another picture. */

import type { MediaInfo } from "./host.ts";

export class VideoFrameCallbacks {
  private waiting = new Map<number, VideoFrameRequestCallback>();
  private lastHandle = 0;
  private shownMs: number | null = null;
  private presentedFrames = 0;

  request(callback: VideoFrameRequestCallback): number {
    this.lastHandle += 1;
    this.waiting.set(this.lastHandle, callback);
    return this.lastHandle;
  }

  cancel(handle: number): void {
    this.waiting.delete(handle);
  }

  /** A picture is shown: that of source time `shownMs`. */
  run(nowMs: number, shownMs: number, info: MediaInfo): void {
    if (shownMs === this.shownMs) return;
    this.shownMs = shownMs;
    this.presentedFrames += 1;
    const { waiting } = this;
    this.waiting = new Map();
    const metadata: VideoFrameCallbackMetadata = {
      presentationTime: nowMs,
      expectedDisplayTime: nowMs,
      width: info.widthPx ?? 0,
      height: info.heightPx ?? 0,
      mediaTime: shownMs / 1000,
      presentedFrames: this.presentedFrames,
      processingDuration: 0,
    };
    for (const callback of waiting.values()) {
      try {
        callback(nowMs, metadata);
      } catch (error) {
        reportError(error);
      }
    }
  }
}
