// Bundles src/main.ts into the one script that the renderer puts into every page, and puts the
// Tailwind compiler beside it, for the pages that need one.
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const CAPTURE = "../src/framekiln/capture";
const TAILWIND = "node_modules/@tailwindcss/browser";

await build({
  entryPoints: ["src/main.ts"],
  outfile: `${CAPTURE}/runtime.js`,
  bundle: true,
  format: "iife",
  target: "chrome120",
  charset: "ascii",
  legalComments: "none",
});

const licence = (await readFile(`${TAILWIND}/LICENSE`, "utf8")).trim();
const { version } = JSON.parse(await readFile(`${TAILWIND}/package.json`, "utf8"));
const compiler = await readFile(`${TAILWIND}/dist/index.global.js`, "utf8");
await writeFile(
  `${CAPTURE}/tailwind.js`,
  `/*!\ntailwindcss ${version}\n\n${licence}\n*/\n${compiler}`,
);
