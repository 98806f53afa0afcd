import assert from "node:assert/strict";
import test from "node:test";
import { ListItems } from "../src/ui/list_items.ts";

const page = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first - at);

function allOf<T>(list: ListItems<T>): T[] {
  return list.slice(0, list.length);
}

test("a list of 100,000 items costs the same for each page", () => {
  let calls = 0;
  const list = new ListItems<number>((item) => {
    calls += 1;
    return String(item);
  });
  for (let first = 100_000; first > 0; first -= 50) {
    list.append(page(first, 50), String(first - 50), first === 100_000 ? null : String(first));
  }
  assert.equal(list.length, 100_000);
  assert.equal(calls, 100_000);
  calls = 0;
  list.refresh(page(100_002, 50), "x");
  assert.equal(list.length, 100_002);
  assert.ok(calls < 200, `${calls} calls`);
});

test("a newer first page adds what is new and removes what was deleted", () => {
  const list = new ListItems<number>(String);
  list.append([9, 8, 7], "a", null);
  list.append([7, 6, 5], "b", "a");
  assert.deepEqual(allOf(list), [9, 8, 7, 6, 5]);
  list.refresh([10, 9, 7], "c");
  assert.deepEqual([allOf(list), list.next], [[10, 9, 7, 6, 5], "b"]);
  list.refresh([30, 29, 28], "d");
  assert.deepEqual([allOf(list), list.next], [[30, 29, 28], "d"]);
  list.refresh([30], null);
  assert.deepEqual([allOf(list), list.next], [[30], null]);
});

test("pages in view behind the first are read again after it, each once", () => {
  const list = new ListItems<{ id: number; status: string }>(({ id }) => String(id));
  const waiting = (...ids: number[]) => ids.map((id) => ({ id, status: "waiting" }));
  list.append(waiting(9, 8), "7", null);
  list.append(waiting(7, 6), "5", "7");
  list.append(waiting(5, 4), null, "5");
  assert.deepEqual(list.takeStale(0, 6), []);
  list.refresh(waiting(10, 9), "8");
  // 8 was on the first page, and is on the next now.
  assert.deepEqual(list.takeStale(0, 4), ["8", "7"]);
  assert.deepEqual(list.takeStale(0, 7), ["5"]);
  list.update([{ id: 7, status: "ready" }]);
  assert.deepEqual(
    allOf(list).map(({ id, status }) => `${id} ${status}`),
    ["10 waiting", "9 waiting", "8 waiting", "7 ready", "6 waiting", "5 waiting", "4 waiting"],
  );
});
