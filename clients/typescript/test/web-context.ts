/** Loads the client where only globals of the web platform exist, as in edge runtimes. */

import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import vm from "node:vm";

/** What the WinterTC minimum common API has and the client needs. */
const WEB_GLOBALS = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "FormData",
  "Headers",
  "Response",
  "TextDecoder",
  "TextEncoder",
  "URL",
  "URLSearchParams",
  "atob",
  "btoa",
  "clearTimeout",
  "crypto",
  "performance",
  "setTimeout",
] as const;

/** Returns the exports of the client; anything that it imports must be a module of its own. */
export async function loadClient(): Promise<typeof import("../src/index.ts")> {
  const globals = globalThis as Record<string, unknown>;
  const context = vm.createContext(
    Object.fromEntries(WEB_GLOBALS.map((name) => [name, globals[name]])),
  );
  const modules = new Map<string, vm.SourceTextModule>();
  const source = new URL("../src/", import.meta.url);
  const load = async (name: string): Promise<vm.SourceTextModule> => {
    const known = modules.get(name);
    if (known !== undefined) return known;
    if (!/^\.\/[a-z]+\.ts$/.test(name)) throw new Error(`${name} is not a module of the client`);
    const text = stripTypeScriptTypes(await readFile(new URL(name, source), "utf8"));
    const module = new vm.SourceTextModule(text, { context, identifier: name });
    modules.set(name, module);
    return module;
  };
  const index = await load("./index.ts");
  await index.link(load);
  await index.evaluate();
  return index.namespace as typeof import("../src/index.ts");
}
