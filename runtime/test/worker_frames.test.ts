import assert from "node:assert/strict";
import { it } from "node:test";
import { WorkerFrames } from "../src/worker_frames.ts";

class Browser {
  private waiting: FrameRequestCallback[] = [];

  readonly request = (callback: FrameRequestCallback): number => this.waiting.push(callback);

  draw(stampMs: number): void {
    const due = this.waiting;
    this.waiting = [];
    for (const callback of due) callback(stampMs);
  }
}

it("calls once in each frame, however often it is drawn", () => {
  const browser = new Browser();
  const frames = new WorkerFrames(browser.request);
  const stamps: number[] = [];
  frames.request(function again(stampMs) {
    stamps.push(stampMs);
    frames.request(again);
  });
  for (const stampMs of [0, 0.1, 0.2, 33.3, 33.4, 66.7]) browser.draw(stampMs);
  assert.deepEqual(stamps, [0, 33.3, 66.7]);
  assert.equal(frames.ran, 3);
  assert.ok(frames.isWaiting);
});

it("calls in the same frame what was asked for after the frame before", () => {
  const browser = new Browser();
  const frames = new WorkerFrames(browser.request);
  const stamps: number[] = [];
  for (const stampMs of [0, 33.3, 66.7]) {
    browser.draw(stampMs);
    frames.request((at) => stamps.push(at));
    browser.draw(stampMs + 0.1);
  }
  assert.deepEqual(
    stamps,
    [0.1, 33.4, 66.8].map((ms) => Math.round(ms * 10) / 10),
  );
});

it("calls nothing that was cancelled, not even by a callback of the same frame", () => {
  const browser = new Browser();
  const frames = new WorkerFrames(browser.request);
  const never = () => assert.fail("was cancelled");
  frames.request(() => frames.cancel(last));
  const last = frames.request(never);
  frames.cancel(frames.request(never));
  browser.draw(0);
  assert.ok(!frames.isWaiting);
});
