/** ef-surface: a mirror of another element's picture. Not timed: it shows what its target shows. */

import { standInOf } from "../native_stand_in.ts";
import { PictureBox } from "./picture_box.ts";
import { elementNamed } from "./target.ts";
import { followers, reflect, type Follower } from "./timed.ts";

export class SurfaceElement extends HTMLElement implements Follower {
  readonly canvas = document.createElement("canvas");
  private readonly box = new PictureBox(this, this.canvas);

  connectedCallback(): void {
    followers.add(this);
  }

  disconnectedCallback(): void {
    followers.delete(this);
  }

  follow(): void {
    this.box.followPosition();
    const original = pictureOf(this.getAttribute("target") ?? this.getAttribute("for"));
    if (original === null || original.width === 0 || original.height === 0) return;
    if (this.canvas.width !== original.width) this.canvas.width = original.width;
    if (this.canvas.height !== original.height) this.canvas.height = original.height;
    this.box.setNaturalSize(original.width, original.height);
    const context = this.canvas.getContext("2d");
    // The original may be transparent, and the picture before must not show through.
    context?.clearRect(0, 0, original.width, original.height);
    context?.drawImage(original, 0, 0);
  }
}

function pictureOf(id: string | null): HTMLCanvasElement | null {
  const target = elementNamed(id);
  if (target === null) return null;
  if (target instanceof HTMLCanvasElement) return target;
  if (target instanceof HTMLVideoElement) return standInOf(target);
  const { canvas } = target as { canvas?: unknown };
  if (canvas instanceof HTMLCanvasElement) return canvas;
  return target.shadowRoot?.querySelector("canvas") ?? target.querySelector("canvas");
}

reflect(SurfaceElement.prototype, { target: "target", htmlFor: "for" });
