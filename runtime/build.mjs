// Bundles src/main.ts into the one script that the renderer puts into every page, and
// src/worker_main.ts into that of every worker, and puts the Tailwind compiler and the Lottie player
// beside them, for the pages that need one.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const CAPTURE = "../src/framekiln/capture";

await build({
  entryPoints: { runtime: "src/main.ts", worker_runtime: "src/worker_main.ts" },
  outdir: CAPTURE,
  bundle: true,
  format: "iife",
  target: "chrome120",
  charset: "ascii",
  legalComments: "none",
  // Every page of every film parses it.
  minify: true,
});

await copyScript("@tailwindcss/browser", { script: "dist/index.global.js", licence: "LICENSE" }, "tailwind.js");
await copyScript("lottie-web", { script: "build/player/lottie_svg.min.js", licence: "LICENSE.md" }, "lottie.js");

/** Somebody else's script, with its version and licence in front. */
async function copyScript(name, files, target) {
  const folder = `node_modules/${name}`;
  const { version } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
  const licence = (await readFile(`${folder}/${files.licence}`, "utf8")).trim();
  const script = await readFile(`${folder}/${files.script}`, "utf8");
  await writeFile(`${CAPTURE}/${target}`, `/*!\n${name} ${version}\n\n${licence}\n*/\n${script}`);
}
