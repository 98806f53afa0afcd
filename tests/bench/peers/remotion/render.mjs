// node render.mjs ORDER.json: renders one film with Remotion.
import { renderMedia, selectComposition } from "@remotion/renderer";
import { readFileSync } from "node:fs";

const order = JSON.parse(readFileSync(process.argv[2], "utf8"));
const shared = {
  serveUrl: order.bundle,
  inputProps: order.page,
  browserExecutable: order.browser,
  chromeMode: "headless-shell",
  chromiumOptions: { gl: order.gl },
  logLevel: "error",
};
const composition = await selectComposition({ ...shared, id: "page" });
await renderMedia({
  ...shared,
  composition,
  codec: "h264",
  x264Preset: order.preset,
  crf: order.crf,
  colorSpace: "bt709",
  concurrency: order.workers,
  enforceAudioTrack: true,
  outputLocation: order.output,
});
