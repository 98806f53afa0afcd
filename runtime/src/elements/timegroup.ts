/** ef-timegroup: times what is in it, and runs the author's frame tasks. */

import { AsyncWork, FrameTasks, type FrameTask } from "../frame_tasks.ts";
import { playback } from "../playback.ts";
import { selectorOf } from "../selector.ts";
import { MediaElement } from "./media.ts";
import { sheetOf } from "./picture_box.ts";
import { TimedElement, timeTree } from "./timed.ts";

const STYLES = `
:host { display: block; position: relative; overflow: hidden; }
:host(:state(nested)) {
  position: absolute; top: 0; left: 0; width: 100%; height: 100%; overflow: initial;
}
:host(:state(sizeless)) { width: 100vw; height: 100vh; }
:host(:state(flat)) { height: 100vh; }
`;

/** What a group lacks of a size: all of it, or a height that its content does not give it either. */
export type MissingSize = "sizeless" | "flat";

type Initializer = (instance: TimegroupElement) => unknown;

let styles: CSSStyleSheet | null = null;

/** What all groups of the page still wait for: async frame tasks and initializers. */
export const asyncWork = new AsyncWork((reason) => reportError(reason));

export class TimegroupElement extends TimedElement {
  private readonly internals = this.attachInternals();
  private readonly tasks = new FrameTasks();
  private frameHandler: FrameTask | null = null;
  private init: Initializer | null = null;
  private isInitialized = false;

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    styles ??= sheetOf(STYLES);
    root.adoptedStyleSheets = [styles];
    root.append(document.createElement("slot"));
  }

  override get isGroup(): boolean {
    return true;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const isNested = this.parentElement instanceof TimegroupElement;
    if (isNested) this.internals.states.add("nested");
    else this.internals.states.delete("nested");
  }

  /** Fill the window where it lacks a size; anything its author's styles say wins. */
  fillWindow(missing: MissingSize | null): void {
    for (const each of ["sizeless", "flat"] as const) {
      if (each === missing) this.internals.states.add(each);
      else this.internals.states.delete(each);
    }
  }

  get hasTasks(): boolean {
    return this.tasks.size > 0;
  }

  /** The film's time; on the outermost group it can be set in a preview. */
  get currentTimeMs(): number {
    const place = timeTree.find(this);
    return place === null ? 0 : timeTree.momentOf(place).nowMs;
  }

  set currentTimeMs(ms: number) {
    playback().seek(ms);
  }

  get currentTime(): number {
    return this.currentTimeMs / 1000;
  }

  set currentTime(seconds: number) {
    playback().seek(seconds * 1000);
  }

  get playing(): boolean {
    return playback().isPlaying;
  }

  seek(ms: number): Promise<void> {
    playback().seek(ms);
    return Promise.resolve();
  }

  play(): Promise<void> {
    playback().play();
    return Promise.resolve();
  }

  pause(): void {
    playback().pause();
  }

  /** Run `task` in each frame in which the group is visible; returns how to end that. */
  addFrameTask(task: FrameTask): () => void {
    return this.tasks.add(task);
  }

  removeFrameTask(task: FrameTask): void {
    this.tasks.remove(task);
  }

  get onFrame(): FrameTask | null {
    return this.frameHandler;
  }

  set onFrame(task: FrameTask | null) {
    if (this.frameHandler !== null) this.tasks.remove(this.frameHandler);
    this.frameHandler = typeof task === "function" ? task : null;
    if (this.frameHandler !== null) this.tasks.add(this.frameHandler);
  }

  get initializer(): Initializer | null {
    return this.init;
  }

  set initializer(initializer: Initializer | null) {
    this.init = typeof initializer === "function" ? initializer : null;
    this.isInitialized = false;
  }

  get needsInitializing(): boolean {
    return this.init !== null && !this.isInitialized;
  }

  /** Called once the tree around it is ready: lengths and starts are known. */
  initialize(): void {
    if (this.init === null || this.isInitialized) return;
    this.isInitialized = true;
    try {
      asyncWork.watch(this.init(this), `initializer of ${selectorOf(this)}`);
    } catch (error) {
      reportError(error);
    }
  }

  /** Resolves when the lengths of all media in it are known. */
  async waitForMediaDurations(): Promise<void> {
    const media = [...this.querySelectorAll("*")].filter((each) => each instanceof MediaElement);
    await Promise.all(media.map((each) => each.whenKnown()));
  }

  runTasks(): void {
    if (this.tasks.size === 0) return;
    const ownMs = this.ownCurrentTimeMs;
    const { durationMs } = this;
    const facts = {
      ownCurrentTimeMs: ownMs,
      durationMs,
      percentComplete: durationMs > 0 ? ownMs / durationMs : 0,
      currentTimeMs: this.currentTimeMs,
      element: this,
    };
    this.tasks.run(facts, {
      watch: (returned) => asyncWork.watch(returned, `frame task of ${selectorOf(this)}`),
      threw: (error) => reportError(error),
    });
  }
}
