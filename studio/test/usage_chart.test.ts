import assert from "node:assert/strict";
import { test } from "node:test";
import { bars } from "../src/app/usage_chart.ts";
import { firstPage, mayOpen } from "../src/lib/roles.ts";

test("the tallest bar fills the chart and small ones can be seen", () => {
  const [all, little, none, unknown] = bars([1_000_000, 1, 0, null], 100, 50);
  assert.deepEqual(all, { x: 2.5, y: 0, width: 20, height: 50 });
  assert.equal(little?.height, 2);
  assert.equal(none?.height, 0);
  assert.equal(unknown, null);
  assert.deepEqual(bars([], 100, 50), []);
});

test("a reviewer sees reviews and nothing else", () => {
  const pages = ["home", "people", "audit", "settings", "reviews", "renders"];
  const seen = (role: "owner" | "member" | "reviewer") => pages.filter((it) => mayOpen(role, it));
  assert.deepEqual(seen("owner"), pages);
  assert.deepEqual(seen("member"), ["home", "settings", "reviews", "renders"]);
  assert.deepEqual(seen("reviewer"), ["reviews"]);
  assert.equal(firstPage("reviewer"), "reviews");
});
