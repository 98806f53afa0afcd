import assert from "node:assert/strict";
import { test } from "node:test";
import { barsOf } from "../src/app/waterfall.ts";

const at = (seconds: number): string => new Date(1000 * seconds).toISOString();

test("bars show waiting and work in the time of the run", () => {
  const [facts, words] = barsOf(
    [
      {
        step_key: "facts",
        status: "succeeded",
        attempt: 1,
        ready_at: at(0),
        started_at: at(1),
        completed_at: at(2),
      },
      {
        step_key: "words",
        status: "failed",
        attempt: 3,
        ready_at: at(2),
        started_at: at(5),
        completed_at: at(10),
      },
    ],
    0,
  );
  assert.deepEqual(
    [facts?.wait, facts?.work],
    [
      [0, 10],
      [10, 10],
    ],
  );
  assert.deepEqual(
    [words?.wait, words?.work],
    [
      [20, 30],
      [50, 50],
    ],
  );
  assert.equal(words?.kind, "bad");
  assert.equal(words?.title, "failed, 5.00 s, waited 3.00 s, attempt 3");
});

test("a step that works now reaches to the present", () => {
  const [bar] = barsOf(
    [{ step_key: "a", status: "running", attempt: 1, ready_at: at(0), started_at: at(5) }],
    10_000,
  );
  assert.deepEqual(bar?.work, [50, 50]);
});

test("a step that has not begun has no bar", () => {
  const [, later] = barsOf(
    [
      {
        step_key: "a",
        status: "succeeded",
        attempt: 1,
        ready_at: at(0),
        started_at: at(0),
        completed_at: at(1),
      },
      { step_key: "b", status: "waiting", attempt: 0 },
    ],
    0,
  );
  assert.deepEqual([later?.wait, later?.work], [null, null]);
});
