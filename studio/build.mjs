// Bundles the pages of the studio into src/framekiln/studio/static: for each entry a script and a
// style with a hash in their names, and a page that loads them. Parts that are imported when they
// are needed become files of their own.
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const STATIC = "../src/framekiln/studio/static";
// Other pages load it under a name that stays.
const PLAYER = "src/player/main.ts";
const PAGES = { app: "Framekiln", preview: "Preview - Framekiln" };

await rm(STATIC, { recursive: true, force: true });
await mkdir(STATIC, { recursive: true });

const { metafile } = await build({
  entryPoints: [...Object.keys(PAGES).map((name) => `src/${name}/main.tsx`), PLAYER],
  outdir: STATIC,
  outbase: "src",
  entryNames: "[dir]-[hash]",
  chunkNames: "part-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
});

const template = await readFile("src/page.html", "utf8");
for (const [output, { entryPoint, cssBundle }] of Object.entries(metafile.outputs)) {
  if (entryPoint === PLAYER) {
    const imported = `import "./assets/${output.slice(STATIC.length + 1)}";\n`;
    await writeFile(`${STATIC}/player.js`, imported);
  }
  const name = entryPoint?.split("/").at(-2);
  if (!entryPoint?.endsWith("main.tsx") || !(name in PAGES)) continue;
  const file = (path) => path.slice(STATIC.length + 1);
  const page = template
    .replaceAll("{title}", PAGES[name])
    .replaceAll("{script}", file(output))
    .replaceAll("{style}", file(cssBundle));
  await writeFile(`${STATIC}/${name}.html`, page);
}
await writeFile(`${STATIC}/NOTICE.txt`, await notices());

/** The licences of all packages that something was bundled of. */
async function notices() {
  const found = Object.keys(metafile.inputs).map(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1],
  );
  const names = [...new Set(found.filter((name) => name !== undefined))].sort();
  const texts = names.map(async (name) => {
    const folder = `node_modules/${name}`;
    const { version, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file ? (await readFile(`${folder}/${file}`, "utf8")).trim() : license;
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return (await Promise.all(texts)).join("\n---\n\n");
}
