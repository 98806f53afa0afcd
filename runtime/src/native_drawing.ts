/** Scripts that draw or copy the picture of a <video> get the picture that stands in. */

import { standInOf } from "./native_stand_in.ts";

type Method = (...args: unknown[]) => unknown;

const DRAWING: readonly (readonly [string, readonly string[]])[] = [
  ["CanvasRenderingContext2D", ["drawImage", "createPattern"]],
  ["OffscreenCanvasRenderingContext2D", ["drawImage", "createPattern"]],
  ["WebGLRenderingContext", ["texImage2D", "texSubImage2D"]],
  ["WebGL2RenderingContext", ["texImage2D", "texSubImage2D", "texImage3D", "texSubImage3D"]],
];

export function replaceDrawing(): void {
  for (const [name, methods] of DRAWING) {
    const owner = (window as unknown as Record<string, { prototype: object } | undefined>)[name];
    if (owner === undefined) continue;
    const prototype = owner.prototype as Record<string, Method>;
    for (const method of methods) prototype[method] = substituting(prototype[method] as Method);
  }
  const native = window.createImageBitmap.bind(window) as Method;
  window.createImageBitmap = substituting(native) as typeof window.createImageBitmap;
  replaceVideoFrame();
}

/** The frame of a canvas has no time of its own; that of a <video> is where the clip stands. */
function replaceVideoFrame(): void {
  // Only in secure contexts.
  if (typeof VideoFrame !== "function") return;
  window.VideoFrame = new Proxy(VideoFrame, {
    construct: (native, [image, init]: [CanvasImageSource, VideoFrameInit?], newTarget) => {
      const canvas = image instanceof HTMLVideoElement ? standInOf(image) : null;
      if (canvas === null) return Reflect.construct(native, [image, init], newTarget) as object;
      const timestamp = Math.round((image as HTMLVideoElement).currentTime * 1_000_000);
      return Reflect.construct(native, [canvas, { timestamp, ...init }], newTarget) as object;
    },
  });
}

function substituting(native: Method): Method {
  return function draw(this: unknown, ...args: unknown[]): unknown {
    const given = args.map((each) =>
      each instanceof HTMLVideoElement ? (standInOf(each) ?? each) : each,
    );
    return native.apply(this, given);
  };
}
