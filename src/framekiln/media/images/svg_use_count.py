"""Counts the elements of an SVG after its `<use>` elements are expanded.

Ten elements that each use the previous one ten times draw ten thousand million elements: a file of
one kilobyte that stops a browser. Cycles count as infinite.
"""

from typing import ClassVar, Final

# No real SVG has a longer chain of references.
_MAX_CHAIN: Final = 50


class UseCounter:
    """Follows a document in order, then counts the elements it draws."""

    MAX_DRAWN: ClassVar[int] = 1_000_000

    def __init__(self) -> None:
        self._elements = 0
        self._targets: list[str] = []
        self._open: list[tuple[str | None, int, int]] = []
        # By id: its number of elements, itself included, and the range of targets inside it.
        self._parts: dict[str, tuple[int, int, int]] = {}
        self._drawn: dict[str, int] = {}

    def open(self, name: str | None, target: str | None) -> None:
        """Start an element with an id that draws another element again; both may be missing."""
        self._open.append((name, self._elements, len(self._targets)))
        self._elements += 1
        if target:
            self._targets.append(target)

    def close(self) -> None:
        """End the element that was started last."""
        name, elements, targets = self._open.pop()
        # If several have the same id, browsers use the first.
        if name is not None and name not in self._parts:
            self._parts[name] = (self._elements - elements, targets, len(self._targets))

    def is_too_large(self) -> bool:
        """Return whether the whole document draws more than `MAX_DRAWN` elements."""
        total = self._elements
        for target in self._targets:
            total += self._count(target, ())
            if total > self.MAX_DRAWN:
                return True
        return False

    def _count(self, name: str, above: tuple[str, ...]) -> int:
        if name not in self._parts:
            return 0
        if name in above or len(above) >= _MAX_CHAIN:
            return self.MAX_DRAWN + 1
        if name not in self._drawn:
            total, first, end = self._parts[name]
            for target in self._targets[first:end]:
                total += self._count(target, (*above, name))
                if total > self.MAX_DRAWN:
                    break
            self._drawn[name] = total
        return self._drawn[name]
