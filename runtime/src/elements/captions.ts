/**
 * ef-captions: words that appear as they are spoken.
 *
 * The data comes from a script element, from an address, from the `captionsData` property, or from
 * the transcription of an uploaded file that `target` plays; its children say which parts of it are shown. Never listens to media itself.
 */

import { normaliseCaptions, lengthOf, parseCaptions, type Captions } from "../captions/model.ts";
import { captionsAt, changesMs, NOTHING, type Moment } from "../captions/moment.ts";
import { askHost, fileUrl, isHosted, type MediaSource } from "../host.ts";
import { selectorOf } from "../selector.ts";
import { seedOf } from "../text/stagger.ts";
import {
  CaptionsActiveWord,
  CaptionsAfterActiveWord,
  CaptionsBeforeActiveWord,
  CaptionsSegment,
  type CaptionPart,
  type Stretch,
} from "./caption_parts.ts";
import { MediaElement } from "./media.ts";
import { sheetOf } from "./picture_box.ts";
import { readSource, type WrittenSource } from "./source.ts";
import { elementNamed } from "./target.ts";
import { reflect, TimedElement, timeTree } from "./timed.ts";

type Given = { readonly text: string } | { readonly data: unknown };

const SOURCES = ["captions-script", "captions-src", "file-id"];
let styles: CSSStyleSheet | null = null;

export class CaptionsElement extends TimedElement {
  static override get observedAttributes(): string[] {
    return [...super.observedAttributes, ...SOURCES, "target", "for"];
  }

  private given: Given | null = null;
  private isGivenByScript = false;
  private asked = "";
  private isLoading = false;
  private isSpoken = false;
  private problem = "";
  private described: {
    readonly captions: Captions;
    readonly changes: readonly number[];
    readonly key: string;
    readonly text: string;
  } | null = null;
  private read: { given: Given; plausibleMs: number | null; captions: Captions } | null = null;

  constructor() {
    super();
    styles ??= sheetOf(":host { display: block; }");
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles];
    shadow.append(document.createElement("slot"));
  }

  get captionsData(): unknown {
    return this.given !== null && "data" in this.given ? this.given.data : null;
  }

  set captionsData(data: unknown) {
    this.isGivenByScript = data !== null && data !== undefined;
    this.asked = "";
    this.problem = "";
    this.take(this.isGivenByScript ? { data } : null);
  }

  override attributeChangedCallback(
    name: string,
    before: string | null,
    after: string | null,
  ): void {
    super.attributeChangedCallback(name, before, after);
    if (before !== after && this.isConnected) this.load();
  }

  override intrinsicMs(): number | null {
    // A transcript is that of the whole file, of which the film may show a part.
    if (this.isSpoken) return null;
    const captions = this.captions();
    return captions === null ? null : lengthOf(captions);
  }

  override pending(): string[] {
    this.load();
    return this.isLoading ? [`captions of ${selectorOf(this)}`] : [];
  }

  override failure(): string {
    if (document.readyState === "loading") return "";
    this.load();
    this.captions();
    return this.problem === "" ? "" : `${selectorOf(this)} ${this.problem}`;
  }

  override update(ownMs: number): void {
    const captions = this.captions();
    if (captions === null) return;
    const clockMs = this.clockMs(ownMs);
    if (clockMs === null) this.write(NOTHING, 0);
    else this.write(captionsAt(captions, clockMs), ownMs - clockMs);
  }

  /** What it would show at that instant of its own clock, as text; words have numbers if wanted. */
  describeAt(ownMs: number, countsWords: boolean): string {
    const captions = this.captions();
    if (captions === null) return "";
    const clockMs = this.clockMs(ownMs);
    if (clockMs === null) return "";
    const aheadMs = ownMs - clockMs;
    if (this.described?.captions !== captions) {
      this.described = { captions, changes: changesMs(captions), key: "", text: "" };
    }
    // Between two changes it is the same, and looking for words takes long.
    const key = `${countBefore(this.described.changes, clockMs)} ${aheadMs}`;
    if (key === this.described.key) return this.described.text;
    const { word, segment, wordIndex, ...texts } = captionsAt(captions, clockMs);
    const times = [shifted(word, aheadMs), shifted(segment, aheadMs)];
    const text = JSON.stringify([texts, times, countsWords ? wordIndex : null]);
    this.described = { ...this.described, key, text };
    return text;
  }

  /** The instants of the film at which what it shows changes; those of a cut video are more. */
  filmChangesMs(): number[] {
    const captions = this.captions();
    if (captions === null) return [];
    const video = this.video();
    const { startMs, sourceInMs } = (video ?? this).span;
    const zeroMs = this.followsSource(video) ? startMs - sourceInMs : startMs;
    return changesMs(captions).map((ms) => zeroMs + ms);
  }

  private write(moment: Moment, aheadMs: number): void {
    const word = shifted(moment.word, aheadMs);
    const segment = shifted(moment.segment, aheadMs);
    for (const part of this.parts("ef-captions-segment", CaptionsSegment)) {
      part.write(moment.segmentText, segment);
    }
    for (const part of this.parts("ef-captions-before-active-word", CaptionsBeforeActiveWord)) {
      part.write(moment.beforeText, segment);
    }
    for (const part of this.parts("ef-captions-after-active-word", CaptionsAfterActiveWord)) {
      part.write(moment.afterText, segment);
    }
    for (const part of this.parts("ef-captions-active-word", CaptionsActiveWord)) {
      part.write(moment.activeText, word);
      if (moment.wordIndex < 0) continue;
      part.style.setProperty("--ef-word-index", String(moment.wordIndex));
      part.style.setProperty("--ef-word-seed", String(seedOf(moment.wordIndex)));
    }
  }

  private parts<P extends CaptionPart>(name: string, kind: new () => P): P[] {
    return [...this.querySelectorAll(name)].filter((part): part is P => part instanceof kind);
  }

  /** The time of their video, which has none before it begins and after its end; else their own. */
  private clockMs(ownMs: number): number | null {
    const video = this.video();
    const place = video === null ? null : timeTree.find(video);
    if (video === null || place === null) return ownMs;
    if (!timeTree.isVisible(place)) return null;
    const videoMs = timeTree.ownMs(place);
    return this.followsSource(video) ? video.sourceMsAt(videoMs) : videoMs;
  }

  /** Captions are of a video: of the one they name, or of the one beside them. */
  private video(): TimedElement | null {
    const named = elementNamed(this.attribute("target", "for"));
    const beside = [...(this.parentElement?.children ?? [])].find(
      (sibling) => sibling.localName === "ef-video",
    );
    const video = named ?? beside;
    return video instanceof TimedElement ? video : null;
  }

  /** Transcripts have the time of the file, wherever the film begins in it. */
  private followsSource(video: TimedElement | null): video is MediaElement {
    return this.isSpoken && video instanceof MediaElement;
  }

  private captions(): Captions | null {
    if (this.given === null) return null;
    const plausibleMs = this.plausibleMs();
    const isSame = this.read?.given === this.given && this.read.plausibleMs === plausibleMs;
    if (this.read !== null && isSame) return this.read.captions;
    try {
      const captions =
        "text" in this.given
          ? parseCaptions(this.given.text, plausibleMs)
          : normaliseCaptions(this.given.data, plausibleMs);
      this.read = { given: this.given, plausibleMs, captions };
      return captions;
    } catch (error) {
      this.problem = `${this.origin()}: ${(error as Error).message}`;
      return null;
    }
  }

  /** How long the film around them can be, as far as that is known without the captions. */
  private plausibleMs(): number | null {
    const target = this.attribute("target", "for");
    const media = elementNamed(target);
    const mediaMs = media instanceof TimedElement ? media.intrinsicMs() : null;
    if (mediaMs !== null) return mediaMs;
    for (let at: Element | null = this; at !== null; at = at.parentElement) {
      const durationMs = at instanceof TimedElement ? at.timeMs("duration") : null;
      if (durationMs !== null) return durationMs;
    }
    return null;
  }

  /** Where the data comes from, in words. */
  private origin(): string {
    const source = [...SOURCES, "target", "for"].find((name) => this.attribute(name) !== null);
    return source === undefined ? "captionsData" : `${source}="${this.attribute(source)}"`;
  }

  /** Get the data, once for each source; a script element may come later in the page. */
  private load(): void {
    if (document.readyState === "loading" || this.isGivenByScript) return;
    const wanted = JSON.stringify(
      [...SOURCES, "target", "for"].map((name) => this.attribute(name)),
    );
    if (wanted === this.asked) return;
    this.asked = wanted;
    this.problem = "";
    this.given = null;
    this.isSpoken = false;
    const script = this.attribute("captions-script");
    const src = this.attribute("captions-src");
    const fileId = this.attribute("file-id");
    if (script !== null) this.loadScript(script);
    else if (src !== null || fileId !== null) this.loadWritten({ src, fileId }, wanted);
    else if (this.attribute("target", "for") !== null) this.loadSpoken(wanted);
  }

  /** What is said in the target, as the service has transcribed it. */
  private loadSpoken(wanted: string): void {
    this.isSpoken = true;
    const target = this.attribute("target", "for") ?? "";
    const media = elementNamed(target);
    if (media === null) this.problem = `target="${target}": there is no element with that id`;
    else if (media instanceof MediaElement && media.source?.fileId != null)
      this.loadFrom(fetchSpoken(media.source.fileId), wanted);
    else this.problem = NOT_TRANSCRIBED;
  }

  private loadScript(id: string): void {
    const script = elementNamed(id);
    if (script !== null) this.take({ text: script.textContent ?? "" });
    else this.problem = `captions-script="${id}": there is no element with that id`;
  }

  private loadWritten(written: WrittenSource, wanted: string): void {
    const { source, problem } = readSource(written);
    if (source !== null) this.loadFrom(fetchCaptions(source), wanted);
    else if (problem !== "") this.problem = `captions-${problem}`;
  }

  private loadFrom(fetched: Promise<Given>, wanted: string): void {
    this.isLoading = true;
    const arrived = (given: Given | null, problem: string): void => {
      if (wanted !== this.asked) return;
      this.isLoading = false;
      this.problem = problem;
      this.take(given);
    };
    fetched.then(
      (given) => arrived(given, ""),
      (error: unknown) => arrived(null, `${this.origin()}: ${(error as Error).message}`),
    );
  }

  private take(given: Given | null): void {
    this.given = given;
    timeTree.invalidate();
  }
}

const NOT_TRANSCRIBED =
  "has a target that is no uploaded file, and only those are transcribed: upload it and give the" +
  " target its file-id, or give these captions captions-src, captions-script or captionsData";

/** From the renderer, which reads every format; in a tab from the address itself. */
async function fetchCaptions(source: MediaSource): Promise<Given> {
  const isInline = source.src?.startsWith("data:") === true;
  if (isHosted() && !isInline) {
    const params = source.src === null ? { fileId: source.fileId ?? "" } : { src: source.src };
    return { data: await askHost("captions", params) };
  }
  const answer = await fetch(source.src ?? fileUrl(source.fileId ?? ""));
  if (!answer.ok) throw new Error(`could not be loaded (${answer.status})`);
  return { text: await answer.text() };
}

async function fetchSpoken(fileId: string): Promise<Given> {
  if (isHosted()) return { data: await askHost("transcription", { fileId }) };
  const answer = await fetch(`${fileUrl(fileId)}/transcription.json`);
  if (!answer.ok) throw new Error(`has no transcription (${answer.status})`);
  return { data: await answer.json() };
}

/** How many of the sorted instants are not after `ms`. */
function countBefore(instants: readonly number[], ms: number): number {
  let low = 0;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((instants[middle] as number) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

function shifted(stretch: Stretch | null, byMs: number): Stretch | null {
  if (stretch === null) return null;
  return { startMs: stretch.startMs + byMs, endMs: stretch.endMs + byMs };
}

reflect(CaptionsElement.prototype, {
  captionsSrc: "captions-src",
  captionsScript: "captions-script",
  target: "target",
});
