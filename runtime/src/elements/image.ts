/** ef-image: a picture from an address, a data URL or a stored file. */

import { fileUrl, isHosted } from "../host.ts";
import { MovingPicture } from "../moving_picture.ts";
import { selectorOf } from "../selector.ts";
import { PictureBox } from "./picture_box.ts";
import { readSource, type Reading } from "./source.ts";
import { reflect, TimedElement } from "./timed.ts";

const SOURCE_NAMES = ["src", "file-id", "fileid", "asset-id", "assetid"];

export class ImageElement extends TimedElement {
  static override get observedAttributes(): string[] {
    return [...TimedElement.observedAttributes, ...SOURCE_NAMES, "alt"];
  }

  private readonly image = document.createElement("img");
  private readonly box = new PictureBox(this, this.image);
  private state: "empty" | "loading" | "loaded" | "failed" = "empty";
  private moving: MovingPicture | null = null;

  override connectedCallback(): void {
    super.connectedCallback();
    this.load();
  }

  override attributeChangedCallback(name: string, before: string | null, after: string | null) {
    super.attributeChangedCallback(name, before, after);
    if (name === "alt") this.image.alt = after ?? "";
    if (SOURCE_NAMES.includes(name) && this.isConnected) this.load();
  }

  override pending(): string[] {
    return this.state === "loading" ? [`image of ${selectorOf(this)}`] : [];
  }

  override failure(): string {
    const { problem } = this.reading();
    if (problem !== "") return `${selectorOf(this)}: ${problem}`;
    if (this.state !== "failed") return "";
    const written = this.attribute("file-id", "asset-id");
    const attribute =
      written === null ? `src="${shorten(this.image.src)}"` : `file-id="${written}"`;
    return `${selectorOf(this)}: ${attribute} could not be loaded as an image`;
  }

  override update(): void {
    this.box.followPosition();
  }

  override paint(ownMs: number): void {
    this.moving?.show(ownMs);
  }

  private reading(): Reading {
    return readSource({
      src: this.getAttribute("src"),
      fileId: this.attribute("file-id", "asset-id"),
    });
  }

  private load(): void {
    const { source } = this.reading();
    const url = source === null ? "" : (source.src ?? fileUrl(source.fileId ?? ""));
    if (url === "") {
      this.state = "empty";
      this.image.removeAttribute("src");
      return;
    }
    if (url === this.image.getAttribute("src") && this.state !== "failed") return;
    this.state = "loading";
    this.image.src = url;
    // Decoded now, a picture is whole in the first frame that shows it.
    this.image.decode().then(
      () => this.settle(url, "loaded"),
      () => this.settle(url, "failed"),
    );
  }

  private settle(url: string, state: "loaded" | "failed"): void {
    if (this.image.getAttribute("src") !== url) return;
    this.state = state;
    this.setMoving(state === "loaded" && isHosted() ? MovingPicture.of(this.image) : null);
  }

  /** An animated picture stands in the place of the image; its time is the element's own. */
  private setMoving(moving: MovingPicture | null): void {
    if (moving === null && this.moving === null) return;
    moving?.canvas.classList.add("picture");
    (this.moving?.canvas ?? this.image).replaceWith(moving?.canvas ?? this.image);
    this.moving = moving;
  }
}

function shorten(url: string): string {
  return url.length > 80 ? `${url.slice(0, 77)}...` : url;
}

reflect(ImageElement.prototype, { src: "src", fileId: "file-id", assetId: "asset-id", alt: "alt" });
