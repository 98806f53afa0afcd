"""A bundle with its own runtime for its elements: a minimal replacement for real ones.

It behaves like such bundles: it defines its elements itself, looks for the renderer's bridge, draws
the requested frame (here: a frame code), paints the frame number on the bottom row of the window,
and delivers its audio with the last frame: a beep at every full second.
"""

import json
from pathlib import Path
from typing import Any

from framekiln.engine.site import Site
from tests.support.frame_codes import cells_script

HTML = """<!doctype html>
<html><head><meta charset="utf-8"><style>
html, body { margin: 0; height: 100%; overflow: hidden; background: #fff; }
ef-timegroup { display: block; position: relative; width: 100%; height: 100%; }
div { position: absolute; left: 25%; top: 25%; width: 50%; height: 50%;
  display: grid; grid-template: repeat(4, 1fr) / repeat(4, 1fr); }
</style></head><body>
<ef-timegroup><div>CELLS</div></ef-timegroup>
<script type="module" src="./assets/runtime.js"></script>
</body></html>
"""

RUNTIME = """
class OwnTimegroup extends HTMLElement {
  get durationMs() { return own.durationMs; }
}
customElements.define("ef-timegroup", OwnTimegroup);
const isOurs = document.querySelector("ef-timegroup") instanceof OwnTimegroup;
if (!isOurs) throw new Error("another runtime has taken my elements");

const strip = document.createElement("p");
strip.style.cssText = "position:fixed;left:0;bottom:0;width:100%;height:1px;margin:0";
document.body.append(strip);

let video = null;
let fromMs = 0;
let soundUs = [0, 0];
let isInitialized = false;

function initialize({ encoderOptions }) {
  const { toMs, alignedFromUs, alignedToUs } = encoderOptions;
  if (!(toMs > encoderOptions.fromMs)) throw new Error("no window");
  ({ video, fromMs } = encoderOptions);
  soundUs = [alignedFromUs, alignedToUs];
}

function draw(n) {
  if (!isInitialized) throw new Error("response to draw before initialized() was said");
  if (innerHeight !== video.height + 1) throw new Error(`the window is ${innerHeight} high`);
  show(Math.round((fromMs + n * 1000 / video.framerate) * code.fpsNum / (1000 * code.fpsDen)));
  const shown = n >= own.lateFrom ? n - 1 : n;
  const parts = [shown >> 16, (shown >> 8) & 255, shown & 255];
  if (own.paintsStrip) strip.style.background = `rgb(${parts.join()})`;
}

function sound() {
  const [first, end] = soundUs.map((us) => Math.round(us * 0.048));
  const samples = new Float32Array(2 * (end - first));
  for (let at = first; at < end; at += 1) {
    const ms = at / 48;
    const level = ms % 1000 < 100 ? 0.5 * Math.sin(2 * Math.PI * ms) : 0;
    samples.set([level, level], 2 * (at - first));
  }
  return samples.buffer;
}

const frame = () => new Promise((done) => requestAnimationFrame(done));
const WAYS = {
  sync: null,
  microtask: async () => {},
  timer: () => new Promise((done) => setTimeout(done, 7)),
  frames: async () => { await frame(); await frame(); },
  fetch: async () => { await (await fetch("./assets/data.json")).json(); },
  never: () => new Promise(() => {}),
};

function byBridge(bridge) {
  bridge.onTriggerCanvas(() => { throw new Error("not asked for"); });
  bridge.onInitialize(async (options) => {
    if (own.failsAt === "initialize") return bridge.error(new Error("no such font"));
    initialize(options);
    await (WAYS[own.waits] ?? WAYS.microtask)();
    isInitialized = true;
    bridge.initialized();
  });
  const finish = (n, isLast) => {
    draw(n);
    if (own.failsAt === n) bridge.error({ message: "the clip ended early" });
    else if (own.failsAt !== `silent ${n}`) bridge.frameReady(n, isLast ? sound() : null);
  };
  bridge.onBeginFrame((n, isLast) => {
    if (own.failsAt === `throw ${n}`) throw new Error(`cannot draw ${n}`);
    // Word of a frame that was asked for earlier must not count for this one.
    if (n > 0) bridge.frameReady(n - 1, new ArrayBuffer(8));
    bridge.syncLog(n, "begun", () => {
      const wait = WAYS[own.waits];
      if (wait === null) finish(n, isLast);
      else wait().then(() => finish(n, isLast));
    });
  });
}

function byCalls() {
  window.EF_FRAMEGEN = {
    async initialize(options) {
      initialize(options);
      await WAYS.timer();
      isInitialized = true;
    },
    async beginFrame(n, isLast) {
      await WAYS[own.waits]?.();
      draw(n);
      if (own.failsAt === n) throw new Error("the clip ended early");
      if (!isLast) return undefined;
      let text = "";
      for (const byte of new Uint8Array(sound())) text += String.fromCharCode(byte);
      return `data:application/octet-stream;base64,${btoa(text)}`;
    },
  };
}

async function visitTheService() {
  const service = "https://service.example/api/v1";
  const body = JSON.stringify({ event: "load" });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${service}/telemetry`, { method: "POST", body, headers });
  if (response.status !== 204) throw new Error(`telemetry: ${response.status}`);
  for (const path of ["renders", "files/8c0f0f4e/transcription"]) {
    for (const host of [service, "/api/v1"]) {
      const answer = await fetch(`${host}/${path}`);
      const { error } = await answer.json();
      if (answer.status !== 404 || error !== "not_found") throw new Error(`${path}: ${error}`);
    }
  }
  const image = await fetch(`/api/v1/assets/image?src=${encodeURIComponent(own.image)}`);
  if ((await image.text()) !== "a picture") throw new Error("no image");
}

if (own.drivenBy === "bridge") byBridge(window.FRAMEGEN_BRIDGE);
else if (own.drivenBy === "calls") byCalls();
let isReady = false;
window.EF_RENDER = {
  isReady: () => isReady,
  getRenderInfo: async () => own.info,
};
if (own.image !== null) await visitTheService();
window.EF_REGISTERED = own.registers;
setTimeout(() => { isReady = true; }, 30);
if (location.search !== "?EF_NONINTERACTIVE=1") throw new Error("an editor was expected");
"""

USUAL: dict[str, Any] = {
    "drivenBy": "bridge",
    "waits": "microtask",
    "paintsStrip": True,
    "lateFrom": 1 << 30,
    "failsAt": None,
    "registers": True,
    "durationMs": 1000,
    "info": None,
    "image": None,
}


def write_bundle(folder: Path, **own: Any) -> Site:
    """Write the bundle; `own` overrides `USUAL`. Its frame codes advance 10 per second."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(html())
    config = f"const own = {json.dumps(USUAL | own)};\n"
    (folder / "assets" / "runtime.js").write_text(config + cells_script(fps=10) + RUNTIME)
    (folder / "assets" / "data.json").write_text("{}")
    return Site(folder)


def html() -> str:
    """Return the bundle's page."""
    return HTML.replace("CELLS", "<i></i>" * 16)
