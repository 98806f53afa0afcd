/**
 * Utility classes (Tailwind) for pages that are written with them but bring no compiler.
 *
 * The compiler is fetched from the host only when a page needs it, runs synchronously as soon as
 * the first class is parsed, and from then on by itself whenever classes change, always before the
 * next frame is drawn: it works in microtasks, so no time passes.
 */

import { isHosted } from "./host.ts";
import { asOwnWork } from "./motion/motion_listeners.ts";
import { themeCss } from "./tailwind_theme.ts";
import { withSlashOpacity } from "./tailwind_v3.ts";

const PATH = "/__framekiln/tailwind.js";
// A page may put its own in its place later.
const NativeRequest = typeof XMLHttpRequest === "function" ? XMLHttpRequest : null;
/** `<meta name="framekiln-tailwind" content="on | off">` decides where the rules guess wrong. */
const SWITCH = 'meta[name="framekiln-tailwind"]';
const OWN_SHEET = /tailwindcss v\d|--tw-/u;
const ARBITRARY_VALUE = /-\[[^\]]+\]/u;
const CLASS_RULE = /\.(-?[_a-z][\w-]*)/giu;

type State = "watching" | "refused" | "failed" | "running";

export class Tailwind {
  private readonly fetchCompiler: () => string;
  private readonly watcher = new MutationObserver(() => this.consider());
  private state: State = "watching";
  private problem = "";
  private sheet: HTMLStyleElement | null = null;

  constructor(fetchCompiler: () => string = fetchFromHost) {
    this.fetchCompiler = fetchCompiler;
  }

  /** Called once, before anything of the page is parsed. */
  watch(): void {
    this.watcher.observe(document, {
      attributeFilter: ["class"],
      childList: true,
      subtree: true,
    });
    document.addEventListener("DOMContentLoaded", () => this.consider());
  }

  pending(): string[] {
    if (this.state === "watching") this.settle();
    const isCompiling = this.state === "running" && this.sheet?.textContent === "";
    return isCompiling ? ["tailwind"] : [];
  }

  failure(): string {
    return this.problem;
  }

  /** Once it is loaded a plain page is only looked at when somebody asks: it may draw for long. */
  private settle(): void {
    this.consider();
    const isPlain = document.readyState === "complete" && !isComposition(document);
    if (this.state === "watching" && isPlain) this.watcher.disconnect();
  }

  private consider(): void {
    if (this.state === "running") rewriteOpacities();
    if (this.state !== "watching" || document.head === null) return;
    if (asksForIt(document)) offerConfiguration();
    const need = needOf(document);
    if (need === "yes") this.start();
    else if (need === "never") this.refuse();
  }

  private refuse(): void {
    this.state = "refused";
    this.watcher.disconnect();
  }

  private start(): void {
    this.state = "running";
    try {
      rewriteOpacities();
      this.sheet = asOwnWork(() => run(this.fetchCompiler()));
    } catch (error) {
      this.state = "failed";
      // In a tab nobody may offer the compiler: the page is then shown without it.
      const reason = `Tailwind could not be started: ${(error as Error).message}`;
      this.problem = isHosted() ? reason : "";
      return;
    }
    const { sheet } = this;
    asOwnWork(() =>
      new MutationObserver(() => switchOn(sheet)).observe(sheet, { childList: true }),
    );
  }
}

type Need = "yes" | "not yet" | "never";

/** Whether a page is written for Tailwind; the same answer however much is parsed at a time. */
function needOf(page: Document): Need {
  const choice = choiceOf(page);
  if (choice === "off") return "never";
  if (choice === "on" || asksForIt(page)) return "yes";
  if (page.body === null) return "not yet";
  if (bringsOwnStyles(page)) return "never";
  const classes = classesOf(page);
  if (isComposition(page)) return classes.size > 0 ? "yes" : "not yet";
  if (page.readyState === "loading") return "not yet";
  return looksLikeTailwind(page, classes) ? "yes" : "not yet";
}

function choiceOf(page: Document): string | undefined {
  return page.querySelector<HTMLMetaElement>(SWITCH)?.content;
}

function isComposition(page: Document): boolean {
  return page.querySelector("ef-timegroup") !== null;
}

/** It names a copy that is elsewhere, out of reach; a copy beside the page runs by itself. */
function asksForIt(page: Document): boolean {
  if (page.querySelector('style[type="text/tailwindcss"]') !== null) return true;
  const scripts = [...page.querySelectorAll<HTMLScriptElement>('script[src*="tailwind" i]')];
  const links = [...page.querySelectorAll<HTMLLinkElement>('link[href*="tailwind" i]')];
  return [...scripts.map(({ src }) => src), ...links.map(({ href }) => href)].some(
    (url) => !isBeside(url),
  );
}

function isBeside(url: string): boolean {
  return url.startsWith(`${location.origin}/`);
}

/** A plain page with classes has its own rules for them, unless nothing else gives them a sense. */
function looksLikeTailwind(page: Document, classes: ReadonlySet<string>): boolean {
  if (classes.size === 0) return false;
  if ([...classes].some((name) => ARBITRARY_VALUE.test(name))) return true;
  return page.querySelector("style, link[rel~=stylesheet]") === null;
}

/** Compiled styles in the page or beside it. Fonts and the like come from elsewhere. */
function bringsOwnStyles(page: Document): boolean {
  const links = [...page.querySelectorAll<HTMLLinkElement>("link[rel~=stylesheet][href]")];
  if (links.some((link) => isBeside(link.href))) return true;
  return [...page.querySelectorAll("style")].some((style) =>
    OWN_SHEET.test(style.textContent ?? ""),
  );
}

/** Pages set `tailwind.config` right after the script that would have defined `tailwind`. */
function offerConfiguration(): void {
  if ("tailwind" in window) return;
  let config: unknown = {};
  const tailwind = {
    get config(): unknown {
      return config;
    },
    set config(given: unknown) {
      config = given;
      const style = document.createElement("style");
      style.setAttribute("type", "text/tailwindcss");
      style.textContent = themeCss(given);
      document.head.append(style);
    },
  };
  Object.defineProperty(window, "tailwind", {
    value: tailwind,
    configurable: true,
    writable: true,
  });
}

function classesOf(page: Document): Set<string> {
  return new Set(
    [...page.querySelectorAll("[class]")].flatMap((element) => [...element.classList]),
  );
}

/** Run the compiler; returns the sheet that it keeps up to date. */
function run(compiler: string): HTMLStyleElement {
  const before = new Set(document.head.querySelectorAll("style"));
  const script = document.createElement("script");
  script.textContent = compiler;
  document.head.append(script);
  script.remove();
  const added = [...document.head.querySelectorAll("style")].find((style) => !before.has(style));
  if (added === undefined) throw new Error("the page does not let its script run");
  return added;
}

/**
 * The sheet also resets the browser's own margins and sizes. A page whose classes mean nothing to
 * Tailwind was not made for that.
 */
function switchOn(sheet: HTMLStyleElement): void {
  const css = sheet.textContent ?? "";
  const own = ownClasses();
  const isUsed = [...classesOf(document)].some(
    (name) => !own.has(name) && css.includes(`.${CSS.escape(name)}`),
  );
  const media = isUsed || choiceOf(document) === "on" ? "" : "not all";
  if (sheet.media !== media) sheet.media = media;
}

/** Classes that rules of the page itself name. */
function ownClasses(): Set<string> {
  const texts = [...document.querySelectorAll("style:not([type='text/tailwindcss'])")]
    .map((style) => style.textContent ?? "")
    .filter((text) => !OWN_SHEET.test(text));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(CLASS_RULE)].map((match) => match[1] ?? "")),
  );
}

function rewriteOpacities(): void {
  for (const element of document.querySelectorAll('[class*="-opacity-"]')) {
    const added = withSlashOpacity([...element.classList]);
    if (added.length > 0) element.classList.add(...added);
  }
}

/** Synchronously: scripts further down the page may measure what the classes make of it. */
function fetchFromHost(): string {
  if (NativeRequest === null) throw new Error("there is no XMLHttpRequest");
  const request = new NativeRequest();
  request.open("GET", isHosted() ? `http://127.0.0.1${PATH}` : PATH, false);
  request.send();
  if (request.status !== 200) throw new Error(`its compiler came with status ${request.status}`);
  return request.responseText;
}
