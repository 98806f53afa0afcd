/**
 * Copies the animation of an ef-text to its segments.
 *
 * The author animates the text, but its units move. The delay is not copied, since units have their
 * own, unless it is written in the style attribute, where it may use --ef-word-index.
 */

import { sheetOf } from "./picture_box.ts";
import type { TextSegment } from "./text_segment.ts";

const COPIED = [
  "animation-name",
  "animation-duration",
  "animation-timing-function",
  "animation-fill-mode",
  "animation-iteration-count",
  "animation-direction",
];
const ALL = [...COPIED, "animation-delay"];

let noAnimation: CSSStyleSheet | null = null;

export class SegmentAnimation {
  private readonly host: HTMLElement;
  private readonly shadow: ShadowRoot;
  private readonly animated = new Set<TextSegment>();
  private appliedTo = "";

  constructor(host: HTMLElement, shadow: ShadowRoot) {
    this.host = host;
    this.shadow = shadow;
  }

  /** Copy again at the next `apply`: the segments have been replaced. */
  forget(): void {
    this.appliedTo = "";
  }

  /** Copy the current styles; does nothing while they are unchanged. */
  apply(segments: readonly TextSegment[]): void {
    const { style } = this.host;
    const inline = `${style.getPropertyValue("animation")};${style.animationName};${style.animationDelay}`;
    const seen = `${this.host.className};${inline}`;
    if (seen === this.appliedTo) return;
    this.appliedTo = seen;
    this.removeAll();
    const animation = this.read();
    const units = segments.filter((segment) => !segment.isSpace);
    if (animation !== null) {
      // A segment that the author animates itself (by a rule, by the template) stays as it is.
      const bare = units.filter((unit) => getComputedStyle(unit).animationName === "none");
      for (const unit of bare) this.animate(unit, animation);
    }
    fillBackwards(units);
    for (const unit of units) unit.forgetStyles();
  }

  private removeAll(): void {
    this.shadow.adoptedStyleSheets = this.shadow.adoptedStyleSheets.filter(
      (s) => s !== noAnimation,
    );
    for (const segment of this.animated) {
      for (const property of ["animation", ...ALL]) segment.style.removeProperty(property);
    }
    this.animated.clear();
  }

  /** The animation of the text itself, as declarations; null when it has none. */
  private read(): Map<string, string> | null {
    const { style } = this.host;
    const shorthand = style.getPropertyValue("animation");
    // Variables of a segment have no value here, so such a declaration is copied as it is written.
    if (shorthand.includes("var(")) return this.silenced(new Map([["animation", shorthand]]));
    const computed = getComputedStyle(this.host);
    if (computed.animationName === "none") return null;
    const declarations = new Map(
      COPIED.map((property) => [property, computed.getPropertyValue(property)]),
    );
    const delay = style.getPropertyValue("animation-delay");
    if (delay !== "") declarations.set("animation-delay", delay);
    return this.silenced(declarations);
  }

  /** The text itself stands still, or everything would move twice. */
  private silenced(declarations: Map<string, string>): Map<string, string> {
    noAnimation ??= sheetOf(":host { animation: none !important; }");
    this.shadow.adoptedStyleSheets = [...this.shadow.adoptedStyleSheets, noAnimation];
    return declarations;
  }

  private animate(segment: TextSegment, animation: ReadonlyMap<string, string>): void {
    for (const [property, value] of animation) segment.style.setProperty(property, value);
    this.animated.add(segment);
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
