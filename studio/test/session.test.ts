import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const stored = new Map<string, string>();
let answer: () => Response = () => new Response();
const page = {
  origin: "http://kiln.example",
  pathname: "/",
  hash: "",
  href: "http://kiln.example/",
};
Object.assign(globalThis, {
  localStorage: {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  },
  location: page,
  history: { replaceState: () => (page.hash = "") },
  fetch: async () => answer(),
});
const { findSession, readSession, session, sessionProblem } = await import("../src/lib/session.ts");

const refused = (status: number, error: string): Response =>
  Response.json({ error, message: error }, { status, headers: { "Retry-After": "60" } });

beforeEach(() => {
  stored.set("framekiln.session", "1");
  session.value = undefined;
  page.pathname = "/";
});

test("a service that fails logs nobody out", async () => {
  answer = () => refused(503, "unavailable");
  await findSession();
  assert.equal(session.value, undefined);
  assert.equal(sessionProblem.value?.code, "unavailable");
  assert.equal(stored.get("framekiln.session"), "1");
  answer = () => Response.json({ role: "owner" });
  await findSession();
  assert.deepEqual([session.value, sessionProblem.value], [{ role: "owner" }, null]);
});

test("a session that has ended leads to the login", async () => {
  answer = () => refused(401, "unauthenticated");
  await readSession();
  assert.deepEqual([session.value, sessionProblem.value], [null, null]);
  assert.equal(stored.has("framekiln.session"), false);
});

test("the address keeps a review link until the service has answered", async () => {
  Object.assign(page, { pathname: "/studio/reviews/1", hash: "#link=abc" });
  answer = () => refused(503, "unavailable");
  await findSession();
  assert.deepEqual([page.hash, sessionProblem.value?.code], ["#link=abc", "unavailable"]);
  answer = () => Response.json({ review_id: "1" });
  await findSession();
  assert.deepEqual([page.hash, session.value], ["", null]);
});
