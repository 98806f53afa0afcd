// Bundles src/main.ts into the one script that the renderer puts into every page.
import { build } from "esbuild";

await build({
  entryPoints: ["src/main.ts"],
  outfile: "../src/framekiln/capture/runtime.js",
  bundle: true,
  format: "iife",
  target: "chrome120",
  charset: "ascii",
  legalComments: "none",
});
