import assert from "node:assert/strict";
import { test } from "node:test";

import { AsyncWork, frameInfo, FrameTasks, type FrameInfo } from "../src/frame_tasks.ts";

const FACTS = {
  ownCurrentTimeMs: 500,
  durationMs: 2000,
  percentComplete: 0.25,
  currentTimeMs: 1500,
  element: {} as HTMLElement,
};
const IGNORE = { watch: () => undefined, threw: () => undefined };

test("the first argument can be taken apart", () => {
  const { ownCurrentTimeMs, durationMs, percentComplete, currentTimeMs } = frameInfo(FACTS);
  assert.deepEqual([ownCurrentTimeMs, durationMs, percentComplete], [500, 2000, 0.25]);
  assert.equal(currentTimeMs, 1500);
});

test("the first argument is the own time as a number", () => {
  const seen: unknown[] = [];
  const tasks = new FrameTasks();
  tasks.add((ms, durationMs) => {
    seen.push(ms / durationMs, Math.min(ms, 9000), ms + 1, ms < 501, ms.toFixed(1), `${ms}`);
  });
  tasks.run(FACTS, IGNORE);
  assert.deepEqual(seen, [0.25, 500, 501, true, "500.0", "500"]);
});

test("tasks run in order until they are removed, by either way", () => {
  const seen: string[] = [];
  const tasks = new FrameTasks();
  const second = (_info: FrameInfo): void => void seen.push("second");
  const remove = tasks.add(() => void seen.push("first"));
  tasks.add(second);
  tasks.run(FACTS, IGNORE);
  remove();
  tasks.run(FACTS, IGNORE);
  tasks.remove(second);
  tasks.run(FACTS, IGNORE);
  assert.deepEqual(seen, ["first", "second", "second"]);
});

test("a task that throws does not stop the next", () => {
  const seen: unknown[] = [];
  const tasks = new FrameTasks();
  tasks.add(() => {
    throw new Error("mine");
  });
  tasks.add(() => "done");
  tasks.run(FACTS, { watch: (value) => seen.push(value), threw: (error) => seen.push(error) });
  assert.deepEqual(seen, [new Error("mine"), "done"]);
});

test("a promise is waited for until it is settled", async () => {
  const rejections: unknown[] = [];
  const work = new AsyncWork((reason) => rejections.push(reason));
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  work.watch(promise, "a task");
  work.watch(Promise.reject(new Error("late")), "another");
  work.watch(7, "no promise");
  assert.deepEqual(work.pending(), ["a task", "another"]);
  resolve();
  await promise;
  await Promise.resolve();
  assert.deepEqual(work.pending(), []);
  assert.deepEqual(rejections, [new Error("late")]);
});
