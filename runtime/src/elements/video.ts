/** ef-video: shows the frames of a source in a canvas of its own. */

import { FrameCanvas } from "../frame_canvas.ts";
import { isHosted } from "../host.ts";
import { MediaElement } from "./media.ts";
import { PictureBox } from "./picture_box.ts";
import { idOf } from "./target.ts";
import { reflect, TIME_NAMES } from "./timed.ts";

const VIDEO_TIME_NAMES = [...TIME_NAMES, "current-time", "currenttime"];

export class VideoElement extends MediaElement {
  readonly mediaKind = "video";
  private readonly frames = new FrameCanvas();
  private readonly box = new PictureBox(this, this.frames.canvas);

  /** What it shows; `ef-surface` copies it. */
  get canvas(): HTMLCanvasElement {
    return this.frames.canvas;
  }

  override get pinnedMs(): number | null {
    return this.timeMs("current-time");
  }

  override get timeNames(): readonly string[] {
    return VIDEO_TIME_NAMES;
  }

  override update(): void {
    this.box.setNaturalSize(this.info?.widthPx ?? 0, this.info?.heightPx ?? 0);
    this.box.followPosition();
  }

  override paint(ownMs: number): void {
    if (this.source === null || !this.info?.hasVideo) return;
    const sourceMs = this.sourceMsAt(ownMs);
    if (isHosted()) this.frames.draw(this.source, this.info, sourceMs, this.isMirrored());
    else if (this.player !== null) copyPicture(this.player.element, this.canvas);
  }

  /** A mirror may be larger than the original, and needs all its pixels. */
  private isMirrored(): boolean {
    if (this.id === "") return false;
    return [...document.querySelectorAll("ef-surface")].some((surface) => {
      const target = surface.getAttribute("target") ?? surface.getAttribute("for");
      return target !== null && idOf(target) === this.id;
    });
  }
}

function copyPicture(video: HTMLVideoElement, canvas: HTMLCanvasElement): void {
  if (video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) return;
  if (canvas.width !== video.videoWidth) canvas.width = video.videoWidth;
  if (canvas.height !== video.videoHeight) canvas.height = video.videoHeight;
  canvas.getContext("2d")?.drawImage(video, 0, 0);
}

reflect(VideoElement.prototype, { currentTime: "current-time" });
