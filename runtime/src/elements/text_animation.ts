/**
 * Hands the animation of an ef-text on to its segments.
 *
 * The author animates the text; what moves are its units. The delay is not handed on, since units
 * have their own, unless it is written in the style attribute, where it may use --ef-word-index.
 */

import { sheetOf } from "./picture_box.ts";
import type { TextSegment } from "./text_segment.ts";

const HANDED_ON = [
  "animation-name",
  "animation-duration",
  "animation-timing-function",
  "animation-fill-mode",
  "animation-iteration-count",
  "animation-direction",
];
const ALL = [...HANDED_ON, "animation-delay"];

let quiet: CSSStyleSheet | null = null;

export class HandedAnimation {
  private readonly host: HTMLElement;
  private readonly shadow: ShadowRoot;
  private readonly given = new Set<TextSegment>();
  private appliedTo = "";

  constructor(host: HTMLElement, shadow: ShadowRoot) {
    this.host = host;
    this.shadow = shadow;
  }

  /** Do it again at the next chance: the segments are other ones. */
  forget(): void {
    this.appliedTo = "";
  }

  /** Hand on what the styles say now; does nothing while they stay as they were. */
  apply(segments: readonly TextSegment[]): void {
    const { style } = this.host;
    const inline = `${style.getPropertyValue("animation")};${style.animationName};${style.animationDelay}`;
    const seen = `${this.host.className};${inline}`;
    if (seen === this.appliedTo) return;
    this.appliedTo = seen;
    this.takeBack();
    const animation = this.read();
    const units = segments.filter((segment) => !segment.isSpace);
    if (animation !== null) {
      // A segment that the author animates itself (by a rule, by the template) stays as it is.
      const bare = units.filter((unit) => getComputedStyle(unit).animationName === "none");
      for (const unit of bare) this.give(unit, animation);
    }
    fillBackwards(units);
    for (const unit of units) unit.forgetStyles();
  }

  private takeBack(): void {
    this.shadow.adoptedStyleSheets = this.shadow.adoptedStyleSheets.filter((s) => s !== quiet);
    for (const segment of this.given) {
      for (const property of ["animation", ...ALL]) segment.style.removeProperty(property);
    }
    this.given.clear();
  }

  /** The animation of the text itself, as declarations; null when it has none. */
  private read(): Map<string, string> | null {
    const { style } = this.host;
    const shorthand = style.getPropertyValue("animation");
    // Variables of a segment have no value here: such a text is handed on as it stands.
    if (shorthand.includes("var(")) return this.silenced(new Map([["animation", shorthand]]));
    const computed = getComputedStyle(this.host);
    if (computed.animationName === "none") return null;
    const declarations = new Map(
      HANDED_ON.map((property) => [property, computed.getPropertyValue(property)]),
    );
    const delay = style.getPropertyValue("animation-delay");
    if (delay !== "") declarations.set("animation-delay", delay);
    return this.silenced(declarations);
  }

  /** The text itself stands still, or everything would move twice. */
  private silenced(declarations: Map<string, string>): Map<string, string> {
    quiet ??= sheetOf(":host { animation: none !important; }");
    this.shadow.adoptedStyleSheets = [...this.shadow.adoptedStyleSheets, quiet];
    return declarations;
  }

  private give(segment: TextSegment, animation: ReadonlyMap<string, string>): void {
    for (const [property, value] of animation) segment.style.setProperty(property, value);
    this.given.add(segment);
  }
}

/** A unit that waits for its turn must not be seen before it. */
function fillBackwards(units: readonly TextSegment[]): void {
  const fills = units.map((unit) => {
    const computed = getComputedStyle(unit);
    return computed.animationName === "none" ? "" : computed.animationFillMode;
  });
  units.forEach((unit, i) => {
    const fill = fills[i] ?? "";
    if (!fill.split(", ").includes("none")) return;
    unit.style.setProperty("animation-fill-mode", fill.replaceAll("none", "backwards"));
  });
}
