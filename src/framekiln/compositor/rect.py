"""Rectangles of whole pixels, aligned so that each covers whole chroma samples."""

from collections.abc import Iterable
from math import ceil, floor
from typing import Final, NamedTuple


class PixelRect(NamedTuple):
    """From (left, top) up to, not including, (right, bottom); empty if they are equal."""

    left: int
    top: int
    right: int
    bottom: int

    @classmethod
    def around(cls, left: float, top: float, right: float, bottom: float) -> "PixelRect":
        """Return the smallest rectangle with even corners that contains the given area."""
        return cls(
            2 * floor(left / 2), 2 * floor(top / 2), 2 * ceil(right / 2), 2 * ceil(bottom / 2)
        )

    @property
    def width_px(self) -> int:
        """Its width."""
        return max(0, self.right - self.left)

    @property
    def height_px(self) -> int:
        """Its height."""
        return max(0, self.bottom - self.top)

    @property
    def is_empty(self) -> bool:
        """Whether it contains no pixel."""
        return self.left >= self.right or self.top >= self.bottom

    def overlaps(self, other: "PixelRect") -> bool:
        """Whether both have a pixel in common."""
        return max(self.left, other.left) < min(self.right, other.right) and max(
            self.top, other.top
        ) < min(self.bottom, other.bottom)

    def moved(self, x: int, y: int) -> "PixelRect":
        """Return it translated."""
        return PixelRect(self.left + x, self.top + y, self.right + x, self.bottom + y)

    def intersection(self, other: "PixelRect") -> "PixelRect":
        """Return the intersection; it may be empty."""
        return PixelRect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def union(self, other: "PixelRect") -> "PixelRect":
        """Return the smallest rectangle that contains both."""
        return PixelRect(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


NOWHERE: Final = PixelRect(0, 0, 0, 0)


def merge(rects: Iterable[PixelRect]) -> list[PixelRect]:
    """Return rectangles that cover the same area without overlaps, so that none is drawn twice."""
    apart: list[PixelRect] = []
    for rect in rects:
        if rect.is_empty:
            continue
        merged = rect
        while touching := [each for each in apart if each.overlaps(merged)]:
            for each in touching:
                apart.remove(each)
                merged = merged.union(each)
        apart.append(merged)
    return apart
