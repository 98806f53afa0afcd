/** Scripts that draw a <video> on a canvas or into a texture get the picture that stands in. */

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
}

function substituting(native: Method): Method {
  return function draw(this: unknown, ...args: unknown[]): unknown {
    const given = args.map((each) =>
      each instanceof HTMLVideoElement ? (standInOf(each) ?? each) : each,
    );
    return native.apply(this, given);
  };
}
