/**
 * What scripts change in a document, frame by frame, so that it can be put at any frame again.
 *
 * Kept are attributes, inline styles one by one, texts and children. What cannot be repeated is an
 * obstacle.
 */

import { TimedElement } from "../elements/timed.ts";
import { selectorOf } from "../selector.ts";
import { drawnAncestors } from "./flat_tree.ts";
import { FrameValues } from "./frame_values.ts";
import { setBeneath } from "./held_styles.ts";

export type Styled = HTMLElement | SVGElement;

const OBSERVED: MutationObserverInit = {
  ...{ subtree: true, childList: true, characterData: true, characterDataOldValue: true },
  ...{ attributes: true, attributeOldValue: true },
};
/** What is loaded, or draws or times itself. */
const LOADED = "img, picture, source, video, audio, canvas, iframe, object, embed, image, use";
const RULES = "style, link, script, template";
const LOADING = new Set(["src", "srcset", "sizes", "href", "xlink:href", "poster", "media"]);
const OURS_ALLOWED = /^(?:style|class|id|hidden|title|role|data-.*|aria-.*)$/u;
const OWN_SHEET = /tailwindcss v\d/u;
const MAX_CHANGES = 300_000;

export class ScriptChanges {
  readonly obstacles = new Set<string>();
  readonly attributes = new Map<Element, Map<string, FrameValues<string | null>>>();
  /** Value and priority, in two lines. */
  readonly styles = new Map<Styled, Map<string, FrameValues<string>>>();
  /** With the element that it is in. */
  readonly texts = new Map<CharacterData, { parent: Element; values: FrameValues<string> }>();
  readonly children = new Map<Element, FrameValues<readonly Node[]>>();
  /** The elements around each that changed, itself first, when it did so for the first time. */
  readonly chains = new Map<Element, readonly Element[]>();
  private readonly observer = new MutationObserver((records) => this.note(records));
  private readonly declared = new Map<Styled, Map<string, string>>();
  private readonly changed = new Map<Element, Set<string>>();
  private readonly changedTexts = new Set<CharacterData>();
  private readonly changedChildren = new Map<Element, MutationRecord[]>();
  private readonly removedIn = new Map<Node, number>();
  private count = 0;
  private frame = 0;
  private shown = -1;

  begin(observe: MutationObserver["observe"]): void {
    observe.call(this.observer, document, OBSERVED);
  }

  /** Forget what has changed since the last call: it was not by scripts. */
  skip(): void {
    this.observer.takeRecords();
    for (const element of this.declared.keys()) {
      if (element instanceof TimedElement)
        this.declared.set(element, declarationsOf(element.style));
    }
  }

  /** Keep what has changed since the last call as a change in that frame. */
  keep(frame: number): void {
    this.frame = frame;
    this.note(this.observer.takeRecords());
    for (const [element, records] of this.changedChildren) this.keepChildren(element, records);
    for (const [element, names] of this.changed) {
      for (const name of names) this.keepAttribute(element, name);
    }
    for (const text of this.changedTexts) {
      const known = this.texts.get(text);
      if (known !== undefined && known.values.last !== text.data) {
        known.values.add(frame, text.data);
        this.count += 1;
      }
    }
    this.changedChildren.clear();
    this.changed.clear();
    this.changedTexts.clear();
    if (this.count > MAX_CHANGES) this.obstacles.add("scripts change too much");
    this.shown = frame;
  }

  /** Nothing is kept from now on. */
  end(): void {
    this.observer.disconnect();
  }

  /** Put the document at a frame. */
  seek(frame: number): void {
    const before = this.shown;
    this.shown = frame;
    for (const [element, values] of this.children) {
      const wanted = values.at(frame);
      if (wanted !== values.at(before)) element.replaceChildren(...wanted);
    }
    for (const [text, { values }] of this.texts) {
      if (values.at(frame) !== text.data) text.data = values.at(frame);
    }
    for (const [element, names] of this.attributes) {
      for (const [name, values] of names) {
        const wanted = values.at(frame);
        if (wanted === values.at(before)) continue;
        if (wanted === null) element.removeAttribute(name);
        else element.setAttribute(name, wanted);
      }
    }
    for (const [element, names] of this.styles) {
      for (const [name, values] of names) {
        const wanted = values.at(frame);
        if (wanted === values.at(before)) continue;
        const [value = "", priority = ""] = wanted.split("\n");
        setBeneath(element, name, value, priority);
      }
    }
  }

  private note(records: readonly MutationRecord[]): void {
    if (this.obstacles.size > 0) return;
    for (const record of records) {
      const { target, type } = record;
      const element = target instanceof Element ? target : target.parentElement;
      if (element === null || isOwnSheet(element)) continue;
      if (element.isConnected && !this.chains.has(element)) {
        this.chains.set(element, [...drawnAncestors(element)]);
      }
      if (element.closest(RULES) !== null) this.refuse(element, "a script changes style rules");
      if (type === "attributes") this.noteAttribute(element, record);
      else if (type === "characterData") this.noteText(target as CharacterData, element, record);
      else this.noteChildren(element, record);
    }
  }

  private noteAttribute(element: Element, { attributeName, oldValue }: MutationRecord): void {
    const name = attributeName ?? "";
    if (LOADING.has(name)) this.refuse(element, `a script sets its ${name}`);
    if (element.localName.startsWith("ef-") && !OURS_ALLOWED.test(name)) {
      this.refuse(element, `a script sets its ${name}`);
    }
    const names = this.changed.get(element) ?? new Set();
    this.changed.set(element, names.add(name));
    if (name === "style" && isStyled(element)) {
      if (!this.declared.has(element)) this.declared.set(element, parsed(oldValue ?? ""));
      return;
    }
    const known = this.attributes.get(element) ?? new Map<string, FrameValues<string | null>>();
    this.attributes.set(element, known);
    if (!known.has(name)) known.set(name, new FrameValues(oldValue));
  }

  private noteText(text: CharacterData, parent: Element, { oldValue }: MutationRecord): void {
    if (!(text instanceof Text)) return;
    this.refuseOurs(parent);
    this.changedTexts.add(text);
    if (this.texts.has(text)) return;
    // Without an old value the first record would not say what the text was.
    this.texts.set(text, { parent, values: new FrameValues(oldValue ?? text.data) });
  }

  private noteChildren(element: Element, record: MutationRecord): void {
    this.refuseOurs(element);
    for (const node of record.removedNodes) this.removedIn.set(node, this.frame);
    for (const node of record.addedNodes) {
      if ((this.removedIn.get(node) ?? this.frame) < this.frame) {
        this.refuse(element, "a script puts back what it took out");
      }
      if (node instanceof Element) this.refuseAdded(node);
    }
    const records = this.changedChildren.get(element) ?? [];
    this.changedChildren.set(element, records);
    records.push(record);
  }

  private refuseAdded(added: Element): void {
    const isLoaded = (each: Element): boolean =>
      each.matches(`${LOADED}, ${RULES}`) || each.localName.includes("-");
    if ([added, ...added.querySelectorAll("*")].some(isLoaded)) {
      this.refuse(added, "a script adds it later");
    }
  }

  /** What our elements hold is their own affair, but for groups. */
  private refuseOurs(element: Element): void {
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      if (at.localName === "ef-timegroup") return;
      if (at.localName.startsWith("ef-")) this.refuse(at, "a script changes what is in it");
    }
  }

  private refuse(element: Element, what: string): void {
    this.obstacles.add(`${selectorOf(element)}: ${what}`);
  }

  private keepChildren(element: Element, records: readonly MutationRecord[]): void {
    const now = [...element.childNodes];
    const known = this.children.get(element) ?? new FrameValues(childrenBefore(now, records));
    this.children.set(element, known);
    known.add(this.frame, now);
    this.count += now.length;
  }

  private keepAttribute(element: Element, name: string): void {
    if (name === "style" && isStyled(element)) {
      this.keepStyles(element);
      return;
    }
    const values = this.attributes.get(element)?.get(name);
    const now = element.getAttribute(name);
    if (values === undefined || values.last === now) return;
    values.add(this.frame, now);
    this.count += 1;
  }

  private keepStyles(element: Styled): void {
    const before = this.declared.get(element) ?? new Map<string, string>();
    const now = declarationsOf(element.style);
    this.declared.set(element, now);
    const known = this.styles.get(element) ?? new Map<string, FrameValues<string>>();
    this.styles.set(element, known);
    for (const name of new Set([...before.keys(), ...now.keys()])) {
      const value = now.get(name) ?? "";
      if (name.startsWith("--ef-") || before.get(name) === value) continue;
      if (value === "\n") this.refuse(element, `a script sets ${name} to a variable`);
      const values = known.get(name) ?? new FrameValues(before.get(name) ?? "");
      known.set(name, values);
      values.add(this.frame, value);
      this.count += 1;
    }
  }
}

function isStyled(element: Element): element is Styled {
  return element instanceof HTMLElement || element instanceof SVGElement;
}

/** The compiler of utility classes adds rules by itself when classes change. */
function isOwnSheet(element: Element): boolean {
  return element instanceof HTMLStyleElement && OWN_SHEET.test(element.textContent ?? "");
}

function declarationsOf(style: CSSStyleDeclaration): Map<string, string> {
  return new Map(
    [...style].map((name) => [
      name,
      `${style.getPropertyValue(name)}\n${style.getPropertyPriority(name)}`,
    ]),
  );
}

function parsed(text: string): Map<string, string> {
  const { style } = document.createElement("i");
  style.cssText = text;
  return declarationsOf(style);
}

/** The children before these changes. */
function childrenBefore(now: readonly Node[], records: readonly MutationRecord[]): Node[] {
  let nodes = [...now];
  for (const { addedNodes, removedNodes, nextSibling } of [...records].reverse()) {
    const added = new Set<Node>(addedNodes);
    nodes = nodes.filter((node) => !added.has(node));
    const at = nextSibling === null ? nodes.length : nodes.indexOf(nextSibling);
    nodes.splice(at < 0 ? nodes.length : at, 0, ...removedNodes);
  }
  return nodes;
}
