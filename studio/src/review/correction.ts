/** What a reviewer has changed, as the API wants it: all annotations of each changed kind. */

import { hasBoxes, type Annotation } from "./boxes.ts";

export interface Item {
  /** Stays the same while the annotation changes. */
  id: number;
  annotation: Annotation;
}

export interface Correction {
  annotations: Annotation[];
  reviewed_kinds: string[];
}

export function itemsOf(outputs: readonly { annotations: readonly unknown[] }[]): Item[] {
  return outputs
    .flatMap(({ annotations }) => annotations as Annotation[])
    .map((annotation, id) => ({ id, annotation }));
}

/** The correction that makes `after` of `before`; null if nothing has changed. */
export function correctionOf(before: readonly Item[], after: readonly Item[]): Correction | null {
  const [old, fresh] = [byKind(before), byKind(after)];
  const kinds = [...new Set([...old.keys(), ...fresh.keys()])].sort();
  const changed = kinds.filter(
    (kind) => JSON.stringify(old.get(kind)) !== JSON.stringify(fresh.get(kind)),
  );
  if (changed.length === 0) return null;
  return {
    annotations: changed.flatMap((kind) => fresh.get(kind) ?? []),
    reviewed_kinds: changed,
  };
}

/** What a decided task looks like: the annotations with its correction. */
export function corrected(items: readonly Item[], correction: Correction | null): Item[] {
  if (correction === null) return [...items];
  const kept = items.filter(
    ({ annotation }) => !correction.reviewed_kinds.includes(annotation.kind),
  );
  const first = nextId(items);
  const added = correction.annotations.map((annotation, at) => ({ id: first + at, annotation }));
  return [...kept, ...added];
}

export function nextId(items: readonly Item[]): number {
  return items.reduce((highest, { id }) => Math.max(highest, id), -1) + 1;
}

export function replaced(items: readonly Item[], id: number, annotation: Annotation): Item[] {
  return items.map((each) => (each.id === id ? { id, annotation } : each));
}

/** As the step `transcribe` calls words. */
const WORD = "speech.word";

/** The words of a transcript in order; of one without words, its sentences. */
export function transcriptOf(items: readonly Item[]): Annotation[] {
  const texts = items
    .map(({ annotation }) => annotation)
    .filter((each) => !hasBoxes(each) && typeof each.text === "string" && each.text !== "");
  const words = texts.filter(({ kind }) => kind === WORD);
  return (words.length > 0 ? words : texts).sort((a, b) => a.start_ms - b.start_ms);
}

/** Spans of sound that a later step mutes: annotations of its kinds without boxes. */
export function mutesOf(items: readonly Item[], redactedKinds: readonly string[]): Item[] {
  return items.filter(
    ({ annotation }) => !hasBoxes(annotation) && redactedKinds.includes(annotation.kind),
  );
}

/** A draft as it was stored in this browser; null if it is not one. */
export function readDraft(text: string): Item[] | null {
  try {
    const items: unknown = JSON.parse(text);
    const isItems = Array.isArray(items) && items.every((each) => isItem(each));
    return isItems ? (items as Item[]) : null;
  } catch {
    return null;
  }
}

function isItem(value: unknown): value is Item {
  const { id, annotation } = (value ?? {}) as Partial<Item>;
  return typeof id === "number" && typeof annotation?.kind === "string";
}

function byKind(items: readonly Item[]): Map<string, Annotation[]> {
  const found = new Map<string, Annotation[]>();
  for (const { annotation } of items) {
    found.set(annotation.kind, [...(found.get(annotation.kind) ?? []), annotation]);
  }
  return found;
}
