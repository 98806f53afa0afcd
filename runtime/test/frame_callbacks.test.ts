import assert from "node:assert/strict";
import { it } from "node:test";
import { FrameCallbacks } from "../src/frame_callbacks.ts";

function fakeFrames() {
  let last = 0;
  const queue = new Map<number, FrameRequestCallback>();
  const callbacks = new FrameCallbacks(
    (callback) => {
      last += 1;
      queue.set(last, callback);
      return last;
    },
    (handle) => queue.delete(handle),
  );
  const draw = (stampMs: number) => {
    const due = [...queue.values()];
    queue.clear();
    for (const callback of due) callback(stampMs);
  };
  return { callbacks, draw };
}

it("runs nothing while the page loads, then once a frame", () => {
  const { callbacks, draw } = fakeFrames();
  const stamps: number[] = [];
  const loop = (stampMs: number) => {
    stamps.push(stampMs);
    callbacks.request(loop);
  };
  callbacks.request(loop);
  draw(0);
  draw(0);
  callbacks.release();
  draw(0);
  draw(33);
  assert.deepEqual(stamps, [0, 33]);
});

it("lets the waiting ones run once when the page's readiness depends on them", () => {
  const { callbacks, draw } = fakeFrames();
  let runs = 0;
  const loop = () => {
    runs += 1;
    callbacks.request(loop);
  };
  callbacks.request(loop);
  callbacks.step();
  draw(0);
  draw(0);
  assert.equal(runs, 1);
});

it("cancels both waiting and requested callbacks", () => {
  const { callbacks, draw } = fakeFrames();
  let runs = 0;
  const count = () => {
    runs += 1;
  };
  callbacks.cancel(callbacks.request(count));
  callbacks.release();
  callbacks.cancel(callbacks.request(count));
  draw(0);
  assert.equal(runs, 0);
});

it("puts callbacks off, in order, while a frame is drawn again", () => {
  const { callbacks, draw } = fakeFrames();
  const seen: string[] = [];
  const loop = (name: string) => (stampMs: number) => {
    seen.push(`${name} ${stampMs}`);
    callbacks.request(loop(name));
  };
  callbacks.release();
  callbacks.request(loop("a"));
  callbacks.request(loop("b"));
  draw(0);
  callbacks.repeat();
  draw(0);
  draw(33);
  assert.deepEqual(seen, ["a 0", "b 0", "a 33", "b 33"]);
});

it("runs the waiting ones without a frame, but none that another one cancels", () => {
  const { callbacks } = fakeFrames();
  const ran: string[] = [];
  callbacks.request((stampMs) => {
    ran.push(`first at ${stampMs}`);
    callbacks.cancel(second);
    callbacks.request(() => ran.push("next"));
  });
  const second = callbacks.request(() => ran.push("second"));
  callbacks.run(40);
  assert.deepEqual(ran, ["first at 40"]);
  callbacks.run(80);
  assert.deepEqual(ran, ["first at 40", "next"]);
});
