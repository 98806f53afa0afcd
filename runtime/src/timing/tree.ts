/**
 * The times of the elements that are in the document now.
 *
 * Computed when first asked for after something changed, so that scripts may read lengths and
 * starts at any moment. Knows elements only as things that describe themselves.
 */

import type { FilmClock } from "../film_clock.ts";
import {
  isVisibleAt,
  layOut,
  ownTimeMs,
  steppedMs,
  type Moment,
  type Span,
  type TimeNode,
} from "./model.ts";

/** What the tree needs of an element. */
export interface TimedThing extends HTMLElement {
  describeTime(children: readonly TimeNode[]): TimeNode;
}

export interface Place<E extends TimedThing = TimedThing> {
  readonly element: E;
  readonly node: TimeNode;
  readonly span: Span;
  readonly parent: Place<E> | null;
  readonly root: Place<E>;
}

const EMPTY_SPAN: Span = { startMs: 0, endMs: 0, lengthMs: 0, sourceInMs: 0, sourceOutMs: null };

export class TimeTree<E extends TimedThing> {
  /** The film's time; written by the driver or the player alone. */
  nowMs = 0;
  /** In a render the film's, which is exact also between two frames. */
  clock: Pick<FilmClock, "nowMs" | "frameMs"> = { nowMs: () => this.nowMs, frameMs: () => 0 };
  /** Called when an element comes into the document. */
  onAdd: () => void = () => undefined;

  private readonly members = new Set<E>();
  private places: Map<E, Place<E>> | null = null;
  private warnings: { element: E; message: string }[] = [];
  private isBuilding = false;

  add(element: E): void {
    this.members.add(element);
    this.invalidate();
    this.onAdd();
  }

  remove(element: E): void {
    this.members.delete(element);
    this.invalidate();
  }

  /** Something that decides times has changed. */
  invalidate(): void {
    this.places = null;
  }

  has(element: Element): boolean {
    return this.members.has(element as E);
  }

  /** Every timed element, parents before children, in document order. */
  all(): Place<E>[] {
    return [...this.current().values()];
  }

  find(element: E): Place<E> | null {
    return this.current().get(element) ?? null;
  }

  spanOf(element: E): Span {
    return this.find(element)?.span ?? EMPTY_SPAN;
  }

  /** What is odd about the composition's times, with the element it concerns. */
  allWarnings(): readonly { element: E; message: string }[] {
    this.current();
    return this.warnings;
  }

  /** The nearest timed element that holds `node`, itself included. */
  nearest(node: Node | null): Place<E> | null {
    for (let at = node; at !== null; at = parentOf(at)) {
      if (this.members.has(at as E)) return this.find(at as E);
    }
    return null;
  }

  momentOf(place: Place<E>): Moment {
    const rootEndMs = place.root.span.endMs;
    // A film may be asked to be longer than its composition, which then stands still at its end.
    const nowMs = rootEndMs > 0 ? Math.min(this.nowMs, rootEndMs) : this.nowMs;
    return { nowMs, rootEndMs };
  }

  isVisible(place: Place<E>): boolean {
    return isVisibleAt(place.node, place.span, this.momentOf(place));
  }

  ownMs(place: Place<E>): number {
    const { nowMs } = this.momentOf(place);
    const ownMs = ownTimeMs(place.span, nowMs);
    const isNestedGroup = place.parent !== null && place.node.isGroup;
    return isNestedGroup ? steppedMs(ownMs, place.node.fps) : ownMs;
  }

  private current(): Map<E, Place<E>> {
    if (this.places !== null) return this.places;
    // An element that asks for times while it describes its own would go round in circles.
    if (this.isBuilding) return new Map();
    this.isBuilding = true;
    try {
      this.places = this.build();
    } finally {
      this.isBuilding = false;
    }
    return this.places;
  }

  private build(): Map<E, Place<E>> {
    const ordered = [...this.members].sort(inDocumentOrder);
    const childrenOf = new Map<E | null, E[]>();
    for (const element of ordered) {
      const parent = this.parentMember(element);
      const siblings = childrenOf.get(parent);
      if (siblings === undefined) childrenOf.set(parent, [element]);
      else siblings.push(element);
    }
    const elementOf = new Map<TimeNode, E>();
    const describe = (element: E): TimeNode => {
      const children = (childrenOf.get(element) ?? []).map(describe);
      const node = element.describeTime(children);
      elementOf.set(node, element);
      return node;
    };
    const places = new Map<E, Place<E>>();
    this.warnings = [];
    for (const root of childrenOf.get(null) ?? []) {
      const { spans, warnings } = layOut(describe(root));
      this.keep(places, spans, elementOf);
      for (const { node, message } of warnings) {
        this.warnings.push({ element: elementOf.get(node) as E, message });
      }
    }
    return places;
  }

  /** Spans come parents first, so each finds its parent's place. */
  private keep(
    places: Map<E, Place<E>>,
    spans: ReadonlyMap<TimeNode, Span>,
    elementOf: ReadonlyMap<TimeNode, E>,
  ): void {
    for (const [node, span] of spans) {
      const element = elementOf.get(node) as E;
      const parent = places.get(this.parentMember(element) as E) ?? null;
      const place = { element, node, span, parent, root: null as unknown as Place<E> };
      place.root = parent?.root ?? place;
      places.set(element, place);
    }
  }

  private parentMember(element: E): E | null {
    for (let at = parentOf(element); at !== null; at = parentOf(at)) {
      if (this.members.has(at as E)) return at as E;
    }
    return null;
  }
}

/** The parent, out of shadow trees too. */
function parentOf(node: Node): Node | null {
  return node instanceof ShadowRoot ? node.host : node.parentNode;
}

function inDocumentOrder(a: Node, b: Node): number {
  if (a === b) return 0;
  return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}
