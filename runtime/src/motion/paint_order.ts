/**
 * The order in which boxes are painted (CSS 2, appendix E), as far as it can part two layers.
 *
 * A context paints itself, then its children with a negative z-index, its own content, positioned
 * children and those with z-index 0 in the order of the document, then those above. Knows no DOM.
 */

export interface PaintNode<T> {
  readonly value: T;
  /** Whether it is a stacking context: nothing from outside is painted between its parts. */
  readonly isContext: boolean;
  readonly isPositioned: boolean;
  readonly zIndex: number;
  readonly children: readonly PaintNode<T>[];
}

/** Painted one after the other; nothing else comes between the members of one. */
export type PaintUnit<T> = readonly T[];

interface Entry<T> {
  readonly zIndex: number;
  readonly units: () => PaintUnit<T>[];
}

export function paintOrder<T>(root: PaintNode<T>): PaintUnit<T>[] {
  const own: T[] = [];
  const entries: Entry<T>[] = [];
  const collect = (node: PaintNode<T>, unit: T[]): void => {
    for (const child of node.children) {
      if (child.isContext) {
        entries.push({ zIndex: child.zIndex, units: () => paintOrder(child) });
      } else if (child.isPositioned) {
        const members = [child.value];
        entries.push({ zIndex: 0, units: () => [members] });
        collect(child, members);
      } else {
        unit.push(child.value);
        collect(child, unit);
      }
    }
  };
  collect(root, own);
  const painted = (wanted: (zIndex: number) => boolean): PaintUnit<T>[] =>
    entries
      .filter(({ zIndex }) => wanted(zIndex))
      .sort((one, other) => one.zIndex - other.zIndex)
      .flatMap(({ units }) => units());
  const below = painted((zIndex) => zIndex < 0);
  const above = painted((zIndex) => zIndex >= 0);
  if (below.length === 0) return [[root.value, ...own], ...above];
  return [[root.value], ...below, ...(own.length > 0 ? [own] : []), ...above];
}
