/** What layers show that are drawn anew, frame by frame, where nothing has moved. */

import { selectorOf } from "../selector.ts";
import { baselineOf, movedBaseline } from "./baseline.ts";
import { areSame, boxOf, unionOf, type Box } from "./boxes.ts";
import { reachOf } from "./element_facts.ts";
import { drawnElements, isShown } from "./flat_tree.ts";
import { inkBox } from "./ink_box.ts";
import type { ElementFacts, FoundLayer } from "./layer_finder.ts";
import type { RedrawnParts } from "./redrawn_parts.ts";
import type { ScriptRecording } from "./script_recording.ts";

/** Number of the picture, box, reach beyond the box, and baselines if all of it is text. */
export type LayerContent = readonly [number, ...Box, number, number | null, number | null];

export interface FrameContents {
  /** For each frame and layer that is redrawn. */
  readonly contents: readonly LayerContent[];
  /** For each frame, where movers lie whose place depends on what is drawn. */
  readonly rests: readonly ReadonlyMap<Element, Box>[];
}

/** What is known of the elements of the page. */
interface Known {
  readonly facts: ReadonlyMap<Element, ElementFacts>;
  readonly rests: Map<Element, Box>;
  readonly recording: ScriptRecording | null;
}

const NOTHING: Box = [0, 0, 0, 0];

export class ContentReader {
  private readonly parts: RedrawnParts;
  private readonly layers: readonly FoundLayer[];
  private readonly facts: ReadonlyMap<Element, ElementFacts>;
  private readonly rests: Map<Element, Box>;
  /** Elements that may not change their place. */
  private readonly fixed: readonly Element[];
  private readonly movers: readonly Element[];
  private readonly allMovers: readonly Element[];
  private readonly recording: ScriptRecording | null;

  constructor(
    parts: RedrawnParts,
    layers: readonly FoundLayer[],
    movers: readonly Element[],
    { facts, rests, recording }: Known,
  ) {
    this.parts = parts;
    this.recording = recording;
    this.allMovers = movers;
    this.layers = layers.filter((layer) => layer.parts.length > 0);
    this.facts = facts;
    this.rests = rests;
    const clips = new Set(layers.flatMap((layer) => layer.clips.map(({ element }) => element)));
    const isInside = (element: Element): boolean => parts.around(element).length > 0;
    this.fixed = [...facts.keys()].filter((each) => !isInside(each) || clips.has(each));
    this.movers = movers.filter(isInside);
  }

  /** Returns why the frames cannot be composed, if they cannot. */
  read(first: number, count: number, seek: (frame: number) => void): FrameContents | string {
    const contents: LayerContent[] = [];
    const rests: Map<Element, Box>[] = [];
    if (this.layers.length === 0) return { contents, rests };
    const last = new Map<FoundLayer, { name: string; content: LayerContent }>();
    let before = "";
    for (let frame = first; frame < first + count; frame += 1) {
      seek(frame);
      const names = this.parts.names(frame);
      const now = [...names.values()].join("\n");
      const problem = now === before ? "" : this.findShifted() || this.findUnknown();
      if (problem !== "") return problem;
      before = now;
      rests.push(new Map(this.movers.filter(isShown).map((each) => [each, boxOf(each)])));
      for (const layer of this.layers) {
        const known = last.get(layer);
        // What is around a part may move it, and what is in it may have its own time.
        const parts = layer.parts.map((part) => `${names.get(part)} ${boxOf(part)}`);
        const name = [...parts, ...layer.elements.map(isShown)].join("\n");
        const isSame = known?.name === name;
        const content = isSame
          ? known.content
          : this.contentOf(layer, (known?.content[0] ?? 0) + 1);
        last.set(layer, { name, content });
        contents.push(content);
      }
    }
    return { contents, rests };
  }

  private contentOf(layer: FoundLayer, number: number): LayerContent {
    const isWhole = (element: Element): boolean => this.recording?.wholes.has(element) ?? false;
    const shown = layer.elements
      .flatMap((element) => (isWhole(element) ? [...drawnElements(element)] : [element]))
      .filter(isShown);
    const boxes = shown.map(inkBox).filter(hasArea);
    const box = boxes.length === 0 ? NOTHING : boxes.reduce(unionOf);
    const reachPx = Math.max(
      0,
      ...shown.map((element) => reachOf(element, getComputedStyle(element))),
    );
    const isText = shown.every((element) => this.facts.get(element)?.hasBox === false);
    const first = shown.find((element) => baselineOf(element) !== null);
    const baseline = isText && first !== undefined ? baselineOf(first) : null;
    const mover = this.allMovers[layer.chain.at(-1) ?? -1];
    const moved = movedBaseline(baseline, mover === undefined ? undefined : boxOf(mover));
    return [number, ...box, reachPx, baseline, moved];
  }

  private findShifted(): string {
    for (const element of this.fixed) {
      if (!isShown(element)) continue;
      const [rest, box] = [this.rests.get(element), boxOf(element)];
      if (rest === undefined) this.rests.set(element, box);
      else if (!areSame(rest, box)) {
        return `${selectorOf(element)}: its place in the layout changes`;
      }
    }
    return "";
  }

  private findUnknown(): string {
    for (const element of drawnElements(document.documentElement)) {
      if (this.facts.has(element) || !isShown(element)) continue;
      if (this.recording?.isInsideWhole(element)) continue;
      return `${selectorOf(element)}: appears at an unexpected time`;
    }
    return "";
  }
}

function hasArea([left, top, right, bottom]: Box): boolean {
  return right > left && bottom > top;
}
