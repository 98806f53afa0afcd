import assert from "node:assert/strict";
import { test } from "node:test";

import { frameTickMs } from "../src/clock.ts";
import {
  about,
  IDENTITY,
  multiply,
  parseRotate,
  parseScale,
  parseTransform,
  parseTranslate,
  translation,
  type Affine,
} from "../src/motion/affine.ts";
import { parseClipPath } from "../src/motion/clip_path.ts";
import { effectsOf } from "../src/motion/effects.ts";
import { fitPicture } from "../src/motion/fit_picture.ts";
import { paintOrder, type PaintNode } from "../src/motion/paint_order.ts";

function apply([a, b, c, d, e, f]: Affine, x: number, y: number): number[] {
  return [a * x + c * y + e, b * x + d * y + f].map((n) => Math.round(n * 1e6) / 1e6);
}

test("transforms apply from right to left, around their origin", () => {
  const turned = parseRotate("90deg") as Affine;
  assert.deepEqual(apply(multiply(translation(10, 0), turned), 1, 0), [10, 1]);
  assert.deepEqual(apply(about(turned, 5, 5), 5, 5), [5, 5]);
  assert.deepEqual(apply(about([2, 0, 0, 2, 0, 0], 10, 0), 20, 3), [30, 6]);
});

test("computed transforms are read, and those in space are not", () => {
  assert.deepEqual(parseTransform("none"), IDENTITY);
  assert.deepEqual(parseTransform("matrix(1, 2, 3, 4, 5, 6)"), [1, 2, 3, 4, 5, 6]);
  const moved = "matrix3d(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 7, 8, 9, 1)";
  assert.deepEqual(parseTransform(moved), [1, 0, 0, 1, 7, 8]);
  const near = "matrix3d(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, -0.001, 0, 0, 0, 1)";
  assert.equal(parseTransform(near), null);
  assert.deepEqual(parseTranslate("-50% 12px", 200, 100), [1, 0, 0, 1, -100, 12]);
  assert.equal(parseTranslate("calc(50% - 3px)", 200, 100), null);
  assert.deepEqual(parseScale("1.5"), [1.5, 0, 0, 1.5, 0, 0]);
  assert.deepEqual(parseScale("2 0.5"), [2, 0, 0, 0.5, 0, 0]);
  assert.equal(parseRotate("x 45deg"), null);
});

function node(value: string, style: object, ...children: PaintNode<string>[]): PaintNode<string> {
  return { value, isContext: false, isPositioned: false, zIndex: 0, children, ...style };
}

test("boxes are painted in the order of CSS", () => {
  const positioned = { isPositioned: true };
  const context = (zIndex: number): object => ({ isContext: true, isPositioned: true, zIndex });
  const root = node(
    "root",
    { isContext: true },
    node("text", {}, node("inside", {})),
    node("raised", context(2), node("child", context(-1)), node("own", {})),
    node("placed", positioned, node("hoisted", context(1)), node("with it", {})),
    node("below", context(-1)),
    node("late", {}),
  );
  assert.deepEqual(paintOrder(root), [
    ["root"],
    ["below"],
    ["text", "inside", "late"],
    ["placed", "with it"],
    ["hoisted"],
    ["raised"],
    ["child"],
    ["own"],
  ]);
});

test("only placing a finished picture needs no other drawing", () => {
  const keyframes = [
    { offset: 0, computedOffset: 0, easing: "ease", composite: "auto", transform: "none" },
    { offset: 1, computedOffset: 1, easing: "ease", composite: "auto", opacity: "0", width: "9px" },
  ];
  assert.deepEqual(effectsOf(keyframes), {
    ...{ places: true, redrawn: ["width"], groups: false },
    ...{ makesContext: true, holdsContext: true },
  });
  assert.equal(effectsOf([{ visibility: "hidden", color: "red" }]).makesContext, false);
  assert.equal(effectsOf([{ maskImage: "none" }]).holdsContext, false);
  assert.deepEqual(effectsOf([{ translate: "1px", visibility: "hidden" }]).redrawn, []);
  assert.equal(effectsOf([{ filter: "blur(1px)" }]).groups, true);
});

test("frame ticks lie on a grid of a tenth of a millisecond", () => {
  assert.equal(frameTickMs(0), 0);
  assert.equal(frameTickMs(1000 / 30), 33.3);
  assert.equal(frameTickMs(16.65), 16.6);
  assert.equal(frameTickMs(16.75), 16.8);
});

test("a picture lies in its box as object-fit and object-position say", () => {
  const at = (fit: string, position = "50% 50%") =>
    fitPicture([10, 20, 110, 70], [400, 100], fit, position);
  assert.deepEqual(at("fill"), [10, 20, 110, 70]);
  assert.deepEqual(at("contain"), [10, 32.5, 110, 57.5]);
  assert.deepEqual(at("cover"), [-40, 20, 160, 70]);
  assert.deepEqual(at("cover", "0% 50%"), [10, 20, 210, 70]);
  assert.deepEqual(at("none", "5px 100%"), [15, -30, 415, 70]);
  assert.deepEqual(at("scale-down"), at("contain"));
  assert.equal(at("contain", "calc(50% + 3px) 0px"), null);
});

test("clip paths that are boxes or circles are read, and others are not", () => {
  const at = (value: string) => parseClipPath(value, [10, 20, 110, 70]);
  assert.equal(at("none"), null);
  assert.deepEqual(at("inset(0px 25% 10px)"), { box: [35, 20, 85, 60], radiusPx: 0 });
  assert.deepEqual(at("inset(10% 0px round 4px)"), { box: [10, 25, 110, 65], radiusPx: 4 });
  assert.deepEqual(at("circle(30px at 50% 50%)"), { box: [30, 15, 90, 75], radiusPx: 30 });
  assert.equal(at("polygon(0px 0px, 1px 1px, 2px 0px)"), undefined);
  assert.equal(at("inset(calc(10% + 3px) 0px)"), undefined);
});
