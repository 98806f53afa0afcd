import assert from "node:assert/strict";
import { it } from "node:test";
import { Requests } from "../src/requests.ts";

const requests = new Requests();
requests.install();

const MODULE = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  "fetch data:,a": () => fetch("data:,a"),
  compile: () => WebAssembly.compile(MODULE),
  digest: () => crypto.subtle.digest("SHA-256", MODULE),
  text: () => new Blob(["a"]).text(),
};

for (const [name, begin] of Object.entries(WORK)) {
  it(`waits for ${name}`, async () => {
    const work = begin();
    assert.deepEqual(requests.pending(), [name]);
    await work;
    assert.deepEqual(requests.pending(), []);
  });
}

it("does not wait for what failed", async () => {
  await assert.rejects(WebAssembly.compile(Uint8Array.of(1)));
  assert.deepEqual(requests.pending(), []);
});

it("does not wait for who asks without end", async () => {
  for (let count = 0; count < 500; count += 1) void new Blob().text();
  assert.equal(requests.pending().length, 500);
  const last = new Blob().text();
  assert.deepEqual(requests.pending(), []);
  await last;
});
