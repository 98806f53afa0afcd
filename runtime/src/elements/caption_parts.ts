/** The four parts that ef-captions writes into: they show what they are given, nothing else. */

import { sheetOf } from "./picture_box.ts";
import { TimedElement } from "./timed.ts";

/** The stretch of the captions' own time for which a part shows what it shows. */
export interface Stretch {
  readonly startMs: number;
  readonly endMs: number;
}

const NO_STRETCH: Stretch = { startMs: 0, endMs: 0 };
// Empty parts must not be seen, whatever display the author gives the others.
const STYLES = ":host([hidden]) { display: none !important; }";

let styles: CSSStyleSheet | null = null;

export abstract class CaptionPart extends TimedElement {
  private stretch = NO_STRETCH;

  constructor() {
    super();
    styles ??= sheetOf(STYLES);
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles];
    shadow.append(document.createElement("slot"));
  }

  write(text: string, stretch: Stretch | null): void {
    if (this.textContent !== text) this.textContent = text;
    if (this.hidden !== (text === "")) this.hidden = text === "";
    this.stretch = stretch ?? NO_STRETCH;
  }

  override get participates(): boolean {
    return false;
  }

  /** Its animations begin anew with each word or segment. */
  override get animationDelayMs(): number {
    return this.stretch.startMs;
  }

  override get startTimeMs(): number {
    return super.startTimeMs + this.stretch.startMs;
  }

  override get endTimeMs(): number {
    return this.startTimeMs + this.durationMs;
  }

  override get durationMs(): number {
    const lengthMs = this.stretch.endMs - this.stretch.startMs;
    return lengthMs > 0 ? lengthMs : super.durationMs;
  }

  override get ownCurrentTimeMs(): number {
    return Math.max(0, super.ownCurrentTimeMs - this.stretch.startMs);
  }
}

export class CaptionsActiveWord extends CaptionPart {}

export class CaptionsBeforeActiveWord extends CaptionPart {}

export class CaptionsAfterActiveWord extends CaptionPart {}

export class CaptionsSegment extends CaptionPart {}
