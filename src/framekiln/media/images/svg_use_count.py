"""How many elements a drawing has once its `<use>` elements are drawn.

Ten elements that each use the one before ten times draw ten thousand million: a file of a
kilobyte that stops a browser. Cycles count as infinite.
"""

from typing import ClassVar, Final

# No drawing that people make refers through so many others.
_LONGEST_CHAIN: Final = 50


class UseCounter:
    """Follows a document in order; knows afterwards how much it draws."""

    MOST_DRAWN: ClassVar[int] = 1_000_000

    def __init__(self) -> None:
        self._elements = 0
        self._targets: list[str] = []
        self._open: list[tuple[str | None, int, int]] = []
        # By id: how many elements it has with itself, and which of the targets lie in it.
        self._parts: dict[str, tuple[int, int, int]] = {}
        self._drawn: dict[str, int] = {}

    def open(self, name: str | None, target: str | None) -> None:
        """Begin an element with an id, that draws another once more; both may be missing."""
        self._open.append((name, self._elements, len(self._targets)))
        self._elements += 1
        if target:
            self._targets.append(target)

    def close(self) -> None:
        """End the element that was begun last."""
        name, elements, targets = self._open.pop()
        # Of several with one id, browsers take the first.
        if name is not None and name not in self._parts:
            self._parts[name] = (self._elements - elements, targets, len(self._targets))

    def is_too_large(self) -> bool:
        """Tell whether the whole document draws more than `MOST_DRAWN` elements."""
        total = self._elements
        for target in self._targets:
            total += self._count(target, ())
            if total > self.MOST_DRAWN:
                return True
        return False

    def _count(self, name: str, above: tuple[str, ...]) -> int:
        if name not in self._parts:
            return 0
        if name in above or len(above) >= _LONGEST_CHAIN:
            return self.MOST_DRAWN + 1
        if name not in self._drawn:
            total, first, end = self._parts[name]
            for target in self._targets[first:end]:
                total += self._count(target, (*above, name))
                if total > self.MOST_DRAWN:
                    break
            self._drawn[name] = total
        return self._drawn[name]
