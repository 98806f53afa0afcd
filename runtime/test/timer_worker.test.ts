import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { onlyKeepsTime } from "../src/timer_worker.ts";

describe("onlyKeepsTime", () => {
  it("knows a worker that does nothing but tick", () => {
    assert.ok(onlyKeepsTime("setInterval(() => postMessage('tick'), 25)"));
    assert.ok(onlyKeepsTime("function tick() { setTimeout(tick, t); self.postMessage(0) } tick()"));
  });

  it("leaves workers alone that work", () => {
    assert.ok(!onlyKeepsTime("onmessage = (e) => postMessage(e.data * 2)"));
    assert.ok(!onlyKeepsTime("importScripts('x.js'); setTimeout(run, 5)"));
    assert.ok(!onlyKeepsTime("setTimeout(() => new OffscreenCanvas(1, 1), 5)"));
    assert.ok(!onlyKeepsTime(`setTimeout(f, 5);${" ".repeat(20_000)}`));
  });
});
