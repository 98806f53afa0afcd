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
    facts?.bars.map(({ kind, span }) => [kind, ...span]),
    [
      ["wait", 0, 10],
      ["good", 10, 10],
    ],
  );
  assert.deepEqual(
    words?.bars.map(({ kind, span }) => [kind, ...span]),
    [
      ["wait", 20, 30],
      ["bad", 50, 50],
    ],
  );
  assert.equal(words?.title, "failed: attempt 3 waited 3.00 s; attempt 3, 5.00 s");
});

test("each attempt has its own bar and its own waiting time", () => {
  const step = { step_key: "ask", status: "succeeded", attempt: 2, completed_at: at(10) };
  const attempts = [
    { step_key: "ask", number: 1, created_at: at(0), sent_at: at(1), ended_at: at(2) },
    { step_key: "other", number: 1, created_at: at(0), sent_at: null, ended_at: null },
    { step_key: "ask", number: 2, created_at: at(2), sent_at: at(8), ended_at: at(10) },
  ];
  const [row] = barsOf([step], 0, attempts);
  assert.deepEqual(
    row?.bars.map(({ kind, span, number }) => [kind, ...span, number]),
    [
      ["wait", 0, 10, 1],
      ["bad", 10, 10, 1],
      ["wait", 20, 60, 2],
      ["good", 80, 20, 2],
    ],
  );
});

test("a step that works now reaches to the present", () => {
  const [bar] = barsOf(
    [{ step_key: "a", status: "running", attempt: 1, ready_at: at(0), started_at: at(5) }],
    10_000,
  );
  assert.deepEqual(bar?.bars.at(-1)?.span, [50, 50]);
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
  assert.deepEqual(later?.bars, []);
});
