import assert from "node:assert/strict";
import { it } from "node:test";
import { seededRandom } from "../src/random.ts";

it("gives the same numbers for the same seed, others for another", () => {
  const take = (seed: number) => Array.from({ length: 5 }, seededRandom(seed));
  assert.deepEqual(take(7), take(7));
  assert.notDeepEqual(take(7), take(8));
});

it("spreads evenly over the unit interval", () => {
  const random = seededRandom(1);
  const buckets = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i += 1) {
    const bucket = Math.floor(random() * 10);
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }
  for (const count of buckets) assert.ok(Math.abs(count - 1000) < 150);
});
