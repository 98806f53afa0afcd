import assert from "node:assert/strict";
import { it } from "node:test";
import { Bridge, type OwnRuntime } from "../src/bridge.ts";
import { BridgeSound } from "../src/bridge_sound.ts";

interface PageSide {
  onInitialize(callback: (options: unknown) => unknown): void;
  onBeginFrame(callback: (n: number, isLast: boolean) => unknown): void;
  onTriggerCanvas(callback: () => void): void;
  initialized(): void;
  frameReady(n?: unknown, sound?: unknown): void;
  error(reason: unknown): void;
  syncLog(n: number, message: string, done?: unknown): void;
}

function bridged(page: OwnRuntime = {}, asksInfo = false) {
  const bridge = new Bridge(page, asksInfo);
  bridge.install();
  return { bridge, page, side: page.FRAMEGEN_BRIDGE as PageSide };
}

const later = () => new Promise((done) => setTimeout(done, 0));

it("waits for the page to register, to be ready, and to be drivable", () => {
  const { bridge, page, side } = bridged();
  assert.deepEqual(bridge.pending(), ["own runtime: window.EF_REGISTERED"]);
  page.EF_REGISTERED = true;
  let isReady = false;
  page.EF_RENDER = { isReady: () => isReady };
  assert.deepEqual(bridge.pending(), ["own runtime: EF_RENDER.isReady()"]);
  isReady = true;
  const missing = "own runtime: FRAMEGEN_BRIDGE.onInitialize, or EF_FRAMEGEN";
  assert.deepEqual(bridge.pending(), [missing]);
  side.onInitialize(() => undefined);
  assert.deepEqual(bridge.pending(), []);
});

it("takes a promise for an answer, and asks again when it was no", async () => {
  const answers = [false, undefined];
  const page: OwnRuntime = { EF_REGISTERED: true, EF_FRAMEGEN: { initialize: () => 0 } };
  page.EF_RENDER = { isReady: () => Promise.resolve(answers.shift()) };
  const { bridge } = bridged(page);
  const waiting = ["own runtime: EF_RENDER.isReady()"];
  assert.deepEqual(bridge.pending(), waiting);
  assert.deepEqual(bridge.pending(), waiting);
  assert.equal(answers.length, 1);
  await later();
  assert.deepEqual(bridge.pending(), waiting);
  await later();
  assert.deepEqual(bridge.pending(), []);
});

it("plans with what the page says of itself, only when it must", async () => {
  const info = { width: 640, height: 360, fps: 30, durationMs: 2500, assets: [] };
  const page: OwnRuntime = { EF_REGISTERED: true, EF_FRAMEGEN: { initialize: () => 0 } };
  page.EF_RENDER = { getRenderInfo: async () => info };
  const { bridge } = bridged(page, true);
  assert.deepEqual(bridge.pending(), ["own runtime: getRenderInfo()"]);
  await later();
  assert.deepEqual(bridge.pending(), []);
  const { widthPx, heightPx, fps, durationMs, isDeclarative } = bridge.plan();
  assert.deepEqual([widthPx, heightPx, fps, durationMs], [640, 360, 30, 2500]);
  assert.equal(isDeclarative, true);
  const unasked = bridged({ ...page, EF_RENDER: { getRenderInfo: () => assert.fail() } });
  assert.deepEqual(unasked.bridge.pending(), []);
  assert.equal(unasked.bridge.plan().widthPx, null);
});

it("falls back on the root when the page cannot say", async () => {
  const root = { clientWidth: 320, clientHeight: 180, durationMs: 900, getAttribute: () => "25" };
  const document = { querySelector: () => root as unknown as Element };
  const page: OwnRuntime = { EF_REGISTERED: true, EF_FRAMEGEN: { initialize: () => 0 }, document };
  page.getRenderInfo = () => Promise.reject(new Error("no media"));
  const { bridge } = bridged(page, true);
  bridge.pending();
  await later();
  assert.deepEqual(bridge.pending(), []);
  const { widthPx, heightPx, fps, durationMs, warnings } = bridge.plan();
  assert.deepEqual([widthPx, heightPx, fps, durationMs], [320, 180, 25, 900]);
  assert.deepEqual(warnings, [{ code: "render_info", text: "getRenderInfo: no media" }]);
});

it("is initialized when the page confirms it after the call, not before", () => {
  const { bridge, side } = bridged({ EF_REGISTERED: true });
  const received: unknown[] = [];
  side.onInitialize((options) => received.push(options));
  side.initialized();
  bridge.initialize({ a: 1 });
  assert.deepEqual(received, [{ a: 1 }]);
  assert.deepEqual(bridge.pending(), ["own runtime: FRAMEGEN_BRIDGE.initialized()"]);
  side.initialized();
  const missing = "own runtime: FRAMEGEN_BRIDGE.onBeginFrame, or EF_FRAMEGEN";
  assert.deepEqual(bridge.pending(), [missing]);
  side.onBeginFrame(() => undefined);
  assert.deepEqual(bridge.pending(), []);
});

it("knows a frame by its number, and keeps the sound of the last", () => {
  const { bridge, side } = bridged();
  const requested: unknown[] = [];
  side.onBeginFrame((n, isLast) => requested.push([n, isLast]));
  bridge.beginFrame(4, false);
  side.frameReady(3);
  assert.equal(bridge.state().isDone, false);
  side.frameReady(4, new Uint8Array([1]).buffer);
  assert.equal(bridge.state().isDone, true);
  assert.equal(bridge.sound.length, 0);
  bridge.beginFrame(5, true);
  side.frameReady(5, new Uint8Array([1, 2, 3]).buffer);
  assert.equal(bridge.sound.length, 3);
  assert.deepEqual(requested, [
    [4, false],
    [5, true],
  ]);
});

it("calls EF_FRAMEGEN as a method when nothing is registered", async () => {
  const page: OwnRuntime = {
    EF_FRAMEGEN: {
      initialize(this: { width: number }, { width }: { width: number }) {
        this.width = width;
      },
      async beginFrame(this: { width: number }, n: number, isLast: boolean) {
        return isLast ? `data:;base64,${btoa(`${this.width}:${n}`)}` : undefined;
      },
    } as NonNullable<OwnRuntime["EF_FRAMEGEN"]>,
  };
  const { bridge } = bridged(page);
  bridge.initialize({ width: 7 });
  await later();
  assert.deepEqual(bridge.pending(), []);
  bridge.beginFrame(9, true);
  assert.equal(bridge.state().isDone, false);
  await later();
  assert.equal(bridge.state().isDone, true);
  assert.equal(atob(bridge.sound.piece(0, 10)), "7:9");
});

it("reports the first failure, whatever its source", async () => {
  const { bridge, side } = bridged();
  side.onBeginFrame(() => Promise.reject(new Error("later")));
  bridge.beginFrame(2, false);
  await later();
  assert.equal(bridge.state().failure, "onBeginFrame(2) failed: later");
  side.error("too late");
  assert.equal(bridge.failure(), "onBeginFrame(2) failed: later");
  for (const reason of [new Error("boom"), "boom", { message: "boom" }]) {
    const other = bridged();
    other.side.error(reason);
    assert.equal(other.bridge.failure(), "the page's own runtime reported: boom");
  }
});

it("answers a synchronous log", () => {
  const { side } = bridged();
  let isDone = false;
  side.syncLog(1, "text", () => {
    isDone = true;
  });
  side.syncLog(1, "text");
  assert.equal(isDone, true);
  assert.throws(() => side.onTriggerCanvas(1 as never), /onTriggerCanvas needs a function/);
});

it("takes sound as a buffer, a view or a data: URL, and gives it in pieces", () => {
  const sound = new BridgeSound();
  sound.keep(undefined);
  sound.keep("");
  assert.equal(sound.length, 0);
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => i % 251);
  sound.keep(new DataView(bytes.buffer, 5));
  assert.equal(sound.length, 19_995);
  const pieces = [sound.piece(0, 9000), sound.piece(9000, 30_000)].map(atob).join("");
  assert.deepEqual(
    [...pieces].map((c) => c.charCodeAt(0)),
    [...bytes.subarray(5)],
  );
  sound.keep(`data:audio/x;base64,${btoa("abc")}`);
  assert.equal(atob(sound.piece(0, 3)), "abc");
  assert.throws(() => sound.keep("https://example/sound"), /no base64 data: URL but https/);
});
