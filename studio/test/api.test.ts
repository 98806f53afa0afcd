import assert from "node:assert/strict";
import { test } from "node:test";

// The client of a browser: its address is that of the page.
Object.assign(globalThis, { location: { origin: "http://127.0.0.1" } });
const { problemOf, FramekilnError, ServiceUnreachable } = await import("../src/lib/api.ts");

const MESSAGE = "The service does not answer. Try again in a moment.";

test("a connection that breaks is told in words, whatever the browser calls it", () => {
  const errors = [
    new TypeError("Failed to fetch"),
    new TypeError("network error"),
    new TypeError("NetworkError when attempting to fetch resource."),
    new TypeError("Load failed"),
    new ServiceUnreachable("http://127.0.0.1 does not answer: TypeError: Failed to fetch"),
  ];
  for (const error of errors) assert.equal(problemOf(error).message, MESSAGE);
});

test("what the service says is kept, and so is a mistake of the page", () => {
  assert.equal(problemOf(new FramekilnError("too long (422)", "x", 422)).message, "too long");
  const busy = new ServiceUnreachable("a quota is used up (429)", "quota_exceeded", 429);
  assert.equal(problemOf(busy).message, "a quota is used up");
  assert.equal(problemOf(new TypeError("x is not a function")).message, "x is not a function");
});
