// node bundle.mjs PUBLIC OUT: builds what Remotion's browser opens, once for all pages.
import { bundle } from "@remotion/bundler";
import { resolve } from "node:path";

const [publicDir, outDir] = process.argv.slice(2);
await bundle({ entryPoint: resolve("index.jsx"), publicDir, outDir, enableCaching: false });
