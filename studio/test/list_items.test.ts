import assert from "node:assert/strict";
import test from "node:test";
import { ListItems } from "../src/ui/list_items.ts";

const page = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first - at);

test("a list of 100,000 items costs the same for each page", () => {
  let calls = 0;
  const list = new ListItems<number>((item) => {
    calls += 1;
    return String(item);
  });
  for (let first = 100_000; first > 0; first -= 50) list.append(page(first, 50), String(first));
  assert.equal(list.items.length, 100_000);
  assert.equal(calls, 100_000);
  calls = 0;
  list.refresh(page(100_002, 50), "x");
  assert.equal(list.items.length, 100_002);
  assert.ok(calls < 200, `${calls} calls`);
});

test("a newer first page adds what is new and removes what was deleted", () => {
  const list = new ListItems<number>(String);
  list.append([9, 8, 7], "a");
  list.append([7, 6, 5], "b");
  assert.deepEqual(list.items, [9, 8, 7, 6, 5]);
  list.refresh([10, 9, 7], "c");
  assert.deepEqual([list.items, list.next], [[10, 9, 7, 6, 5], "b"]);
  list.refresh([30, 29, 28], "d");
  assert.deepEqual([list.items, list.next], [[30, 29, 28], "d"]);
  list.refresh([30], null);
  assert.deepEqual([list.items, list.next], [[30], null]);
});
