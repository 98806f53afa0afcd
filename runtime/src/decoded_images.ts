/**
 * `decode()` of images. Chromium answers after a later frame, sooner or later, and before frame 0
 * there is none. Images are decoded when they are drawn, so here they are as soon as they are loaded.
 */

/** Called before the page's own scripts. */
export function replaceDecode(): void {
  HTMLImageElement.prototype.decode = function decode(this: HTMLImageElement): Promise<void> {
    return this.complete ? settled(isUsable(this)) : whenLoaded(this);
  };
}

function whenLoaded(image: HTMLImageElement): Promise<void> {
  image.loading = "eager";
  return new Promise((resolve, reject) => {
    const end = (isLoaded: boolean): void => void settled(isLoaded).then(resolve, reject);
    image.addEventListener("load", () => end(true), { once: true });
    image.addEventListener("error", () => end(false), { once: true });
  });
}

function isUsable(image: HTMLImageElement): boolean {
  return image.currentSrc !== "" && image.naturalWidth > 0;
}

function settled(isLoaded: boolean): Promise<void> {
  if (isLoaded) return Promise.resolve();
  const text = "The source image cannot be decoded.";
  return Promise.reject(new DOMException(text, "EncodingError"));
}
