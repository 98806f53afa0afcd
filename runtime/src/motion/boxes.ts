/** Boxes of elements in the coordinates of the window. */

export type Box = readonly [left: number, top: number, right: number, bottom: number];

const SAME_PX = 0.01;

export function innerBox(element: Element, [left, top, right, bottom]: Box): Box {
  const style = getComputedStyle(element);
  const width = (name: string): number => Number.parseFloat(style.getPropertyValue(name)) || 0;
  return [
    left + width("border-left-width"),
    top + width("border-top-width"),
    right - width("border-right-width"),
    bottom - width("border-bottom-width"),
  ];
}

export function boxOf(element: Element): Box {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  return [left, top, right, bottom];
}

export function areSame(one: Box, other: Box): boolean {
  return one.every((edge, i) => Math.abs(edge - (other[i] ?? Number.NaN)) < SAME_PX);
}

export function unionOf(one: Box, other: Box): Box {
  return [
    Math.min(one[0], other[0]),
    Math.min(one[1], other[1]),
    Math.max(one[2], other[2]),
    Math.max(one[3], other[3]),
  ];
}

export function isInside(inner: Box, outer: Box): boolean {
  return (
    outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3]
  );
}
