import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, duration, quota, quotaName } from "../src/lib/format.ts";

test("a duration is minutes and seconds, with tenths only if there are any", () => {
  assert.equal(duration(0), "0:00");
  assert.equal(duration(62_500), "1:02.5");
  assert.equal(duration(59_960), "1:00");
  assert.equal(duration(3_600_000), "60:00");
});

test("a size has the largest unit that leaves a whole number before the point", () => {
  assert.equal(bytes(999), "999 B");
  assert.equal(bytes(1_400_000), "1.4 MB");
  assert.equal(bytes(123_456_789), "123 MB");
});

test("a time is told relative to now", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  assert.equal(ago("2026-01-01T11:57:00Z", now), "3 minutes ago");
  assert.equal(ago("2025-12-31T12:00:00Z", now), "yesterday");
});

test("a quota has the unit of what it counts", () => {
  assert.equal(quota("stored_bytes", 39_894, 1_099_511_627_776), "39.9 kB of 1.1 TB");
  assert.equal(quota("concurrent_renders", 0, 50), "0 of 50");
  assert.equal(quota("requests_per_minute", null, 12_000), "at most 12,000");
  assert.equal(quota("queued_jobs", 3, null), "3");
  assert.equal(quotaName("uploaded_bytes"), "Copied to destinations");
  assert.equal(quotaName("a_new_one"), "a new one");
});
