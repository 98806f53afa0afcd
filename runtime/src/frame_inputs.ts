/**
 * All that can influence the frames of a page, so that parts of the film can be told apart.
 *
 * An element outside its time has `display: none`: it has no box, runs no animation and increments
 * no counter. What is inside it cannot influence the rest of the page, but for a few ways that are
 * named here: then the whole page counts for every frame (`obstacle`), or the inside of that
 * element does (`matters`).
 */

import type { FrameRate } from "./clock.ts";
import { CaptionsElement } from "./elements/captions.ts";
import { timeTree, TimedElement } from "./elements/timed.ts";
import { FilmFrames, type CaptionRuns } from "./film_frames.ts";
import { describedStyles } from "./described_styles.ts";

/** Text, or an element with a time. */
export type Described = string | DescribedElement;

export interface DescribedElement {
  /** First and last frame in which it is not hidden; null if it always counts. */
  readonly frames: readonly [number, number] | null;
  /** What counts while it is hidden. */
  readonly hidden: string;
  /** What counts, besides, while it is shown. */
  readonly shown: string;
  readonly inside: readonly Described[];
  /** Where the sources that it names are. */
  readonly addresses: readonly string[];
  /** What captions show, from a frame of the film on. */
  readonly captions: CaptionRuns;
}

export interface FrameInputs {
  /** Why all of the page counts for every frame, or "". */
  readonly obstacle: string;
  readonly styles: string;
  /** Attributes that may name sources in another way than by their address alone. */
  readonly functions: string;
  readonly page: readonly Described[];
  /** Addresses that are named outside of elements with a time. */
  readonly addresses: readonly string[];
  /** Sources of captions, which count through what is shown of them. */
  readonly captionAddresses: readonly string[];
}

const KNOWN_ELEMENTS = new Set([
  "ef-timegroup",
  "ef-video",
  "ef-audio",
  "ef-image",
  "ef-text",
  "ef-text-segment",
  "ef-captions",
  "ef-captions-active-word",
  "ef-captions-before-active-word",
  "ef-captions-after-active-word",
  "ef-captions-segment",
]);
/** They have an effect on the page wherever they are. */
const ACTS_FROM_AFAR =
  "style, link, meta, base, template, slot, form, input, select, textarea, button, fieldset," +
  " output, details, dialog, [popover], animate, animateTransform, animateMotion, set, mpath";
const DIRECTION_OF_TEXT = "bdi, [dir=auto i], [dirname]";
const EMBEDDED = "iframe, frame, frameset, object, embed, canvas";
const ADDRESS_ATTRIBUTES = ["src", "href", "xlink:href", "poster", "data", "background"];
/** What an element outside its time shows or plays: it counts only if a selector reads it. */
const CONTENT_ATTRIBUTES = ["src", "file-id", "fileid", "alt", "captions-src", "captionssrc"];
const SIMPLE_ID = /^[A-Za-z_][\w-]*$/u;
const MAX_ELEMENTS = 20_000;

export function describeInputs(rate: FrameRate, count: number): FrameInputs {
  const styles = describedStyles();
  const obstacle = styles.obstacle || obstacleOf();
  const nothing = { styles: "", functions: "", page: [], addresses: [], captionAddresses: [] };
  if (obstacle !== "") return { obstacle, ...nothing };
  const countsWords = styles.text.includes("--ef-word") || mentionsWords();
  return new Describer(styles.text, new FilmFrames(rate, count), countsWords).describe();
}

function obstacleOf(): string {
  const all = [...document.querySelectorAll("*")];
  const own = all.find(
    (each) => /^ef-/u.test(each.localName) && !KNOWN_ELEMENTS.has(each.localName),
  );
  const reasons: readonly [boolean, string][] = [
    [all.length > MAX_ELEMENTS, "it has too many elements"],
    [all.some(runs), "it has a script"],
    [all.some(hasHandler), "it has an event handler"],
    [document.querySelector(EMBEDDED) !== null, "it embeds another document, or draws by script"],
    [
      all.some((each) => !each.localName.startsWith("ef-") && each.shadowRoot !== null),
      "it has shadow roots",
    ],
    [own !== undefined, `it has ${own?.localName ?? "an element"}`],
    [document.querySelector(DIRECTION_OF_TEXT) !== null, "text decides a direction"],
    [document.querySelector("[autofocus]") !== null, "an element has the focus"],
    [isScrolled() && !staysScrolled(), "it is scrolled"],
  ];
  return reasons.find(([is]) => is)?.[1] ?? "";
}

function isScrolled(): boolean {
  return scrollX !== 0 || scrollY !== 0;
}

/** Whether one root fills the window in every frame, so that no content can move the page back. */
function staysScrolled(): boolean {
  const roots = timeTree.all().filter(({ parent }) => parent === null);
  const root = roots[0]?.element;
  if (root === undefined || roots.length > 1) return false;
  const { width, height } = root.getBoundingClientRect();
  const sides = ["width", "height"].map((side) => String(root.computedStyleMap().get(side)));
  const areFixed = sides.every((side) => /^[\d.]+(?:px|vw|vh)$/u.test(side));
  return areFixed && width >= innerWidth && height >= innerHeight;
}

/** Whether a style of one element follows the number of the active word. */
function mentionsWords(): boolean {
  return document.querySelector('[style*="--ef-word"]') !== null;
}

/** Scripts of another type are data; JSON is the one that captions read. */
function runs(element: Element): boolean {
  if (element.localName !== "script") return false;
  return !/^application\/(?:ld\+)?json$/iu.test(element.getAttribute("type")?.trim() ?? "");
}

function hasHandler(element: Element): boolean {
  return element.getAttributeNames().some((name) => /^on/iu.test(name));
}

class Describer {
  private readonly styles: string;
  private readonly film: FilmFrames;
  private readonly captions: ReadonlyMap<Element, CaptionRuns>;
  private readonly mentions: ReadonlyMap<string, number>;
  private readonly captionAddresses: string[] = [];

  constructor(styles: string, film: FilmFrames, countsWords: boolean) {
    this.styles = styles;
    this.film = film;
    this.captions = film.captions(countsWords);
    this.mentions = mentionsIn([document.documentElement], styles);
  }

  describe(): FrameInputs {
    const addresses: string[] = [];
    const start = JSON.stringify([document.compatMode, scrollX, scrollY]);
    const page = [start, ...this.node(document.documentElement, addresses)];
    const { styles, captionAddresses } = this;
    const functions = functionsIn(document.documentElement);
    return { obstacle: "", styles, functions, page, addresses, captionAddresses };
  }

  private node(node: Node, addresses: string[]): Described[] {
    if (node instanceof Text) return [JSON.stringify(node.data)];
    if (!(node instanceof Element)) return [];
    if (node instanceof TimedElement) return [this.timed(node)];
    addresses.push(...addressesOf(node));
    return [openTag(node), ...this.inside(node, addresses), "</>"];
  }

  private inside(element: Element, addresses: string[]): Described[] {
    // Captions count through what is shown of them, and nothing else reads data.
    if (element.localName === "script") return [];
    if (element instanceof HTMLTemplateElement) return [JSON.stringify(element.innerHTML)];
    return joined([...element.childNodes].flatMap((child) => this.node(child, addresses)));
  }

  private timed(element: TimedElement): DescribedElement {
    const { span } = element;
    const isAlways = span.lengthMs <= 0 || this.matters(element);
    const addresses = addressesOf(element);
    if (element instanceof CaptionsElement) {
      this.captionAddresses.push(...addresses.splice(0));
    }
    const inside = this.inside(element, addresses);
    return {
      frames: isAlways ? null : this.film.shownFrames(element),
      hidden: openTag(element, (name) => this.isContent(name)),
      shown: JSON.stringify([contentOf(element), span, boxOf(element)]),
      inside,
      addresses,
      captions: this.captions.get(element) ?? [],
    };
  }

  private isContent(name: string): boolean {
    return CONTENT_ATTRIBUTES.includes(name) && !this.styles.includes(`[${name}`);
  }

  /** Whether what is inside an element can influence the page while the element is hidden. */
  private matters(element: Element): boolean {
    if (element.querySelector(ACTS_FROM_AFAR) !== null) return true;
    const named = [element, ...element.querySelectorAll("[id]")].filter((each) => each.id !== "");
    if (named.length === 0) return false;
    const own = mentionsIn([element], "");
    return named.some(
      ({ id }) => !SIMPLE_ID.test(id) || (this.mentions.get(id) ?? 0) > (own.get(id) ?? 0),
    );
  }
}

/** How often each word is in attributes and styles: an id that is in no others is not referred to. */
function mentionsIn(roots: readonly Element[], styles: string): Map<string, number> {
  const found = new Map<string, number>();
  const add = (text: string): void => {
    for (const word of text.split(/[^\w-]+/u)) {
      if (word !== "") found.set(word, (found.get(word) ?? 0) + 1);
    }
  };
  for (const element of roots.flatMap((root) => [root, ...root.querySelectorAll("*")])) {
    for (const { value } of element.attributes) add(value);
  }
  add(styles);
  return found;
}

function openTag(element: Element, isLeftOut: (name: string) => boolean = () => false): string {
  const attributes = [...element.attributes]
    .filter(({ name }) => !isLeftOut(name))
    .map(({ name, value }) => `${name}=${JSON.stringify(value)}`)
    .sort();
  return `<${element.namespaceURI} ${element.localName} ${attributes.join(" ")}>`;
}

function contentOf(element: Element): string[] {
  return CONTENT_ATTRIBUTES.map((name) => element.getAttribute(name) ?? "");
}

/** A root may have got its size from what was in it when it was loaded. */
function boxOf(element: TimedElement): number[] {
  if (timeTree.find(element)?.parent !== null) return [];
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left, top, width, height];
}

/** Inline styles and attributes such as `filter="url(…)"` and `srcset`. */
function functionsIn(root: Element): string {
  return [root, ...root.querySelectorAll("*")]
    .flatMap((element) => [...element.attributes])
    .filter(({ name, value }) => /\(/u.test(value) || /srcset$/iu.test(name))
    .map(({ value }) => value)
    .join("\n");
}

function addressesOf(element: Element): string[] {
  const written = [
    ...ADDRESS_ATTRIBUTES.map((name) => element.getAttribute(name)),
    element.getAttribute("captions-src") ?? element.getAttribute("captionssrc"),
    ...(element.getAttribute("srcset") ?? "").split(/[\s,]+/u),
  ];
  const fileId = element.getAttribute("file-id") ?? element.getAttribute("fileid");
  return [
    ...written.flatMap((each) => (each ? resolved(each) : [])),
    ...(fileId === null ? [] : [`file-id:${fileId}`]),
  ];
}

function resolved(address: string): string[] {
  if (address.startsWith("data:")) return [];
  try {
    const url = new URL(address, document.baseURI);
    url.hash = "";
    return [address, url.href];
  } catch {
    return [address];
  }
}

/** Neighbouring texts as one. */
function joined(parts: readonly Described[]): Described[] {
  const found: Described[] = [];
  for (const part of parts) {
    const last = found.at(-1);
    if (typeof part === "string" && typeof last === "string") found[found.length - 1] = last + part;
    else found.push(part);
  }
  return found;
}
