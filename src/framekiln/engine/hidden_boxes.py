"""Where boxes are that have to be hidden: along keyframes, over all the time a picture is shown.

A picture stays on screen until the next one comes. What must not be seen at any instant of that
time is hidden on it, so a box covers its whole way from the one picture to the other. Pure.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from framekiln.compositor.rect import Rect

_LEAST_MARGIN_PX: Final = 8
_MARGIN: Final = 0.05
"""Of the side of a box, added on either side: whoever draws boxes draws them tight."""
_LONGEST_HOLD_MS: Final = Fraction(50)


@dataclass(frozen=True)
class Box:
    """Fractions of the width and height of the picture, as shown."""

    left: float
    top: float
    right: float
    bottom: float

    def join(self, other: "Box") -> "Box":
        """Return the smallest one around both."""
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def towards(self, other: "Box", part: float) -> "Box":
        """Return the one that lies `part` of the way from this to another."""
        return Box(
            self.left + part * (other.left - self.left),
            self.top + part * (other.top - self.top),
            self.right + part * (other.right - self.right),
            self.bottom + part * (other.bottom - self.bottom),
        )

    def rect(self, width_px: int, height_px: int) -> Rect:
        """Return the pixels to hide: with a margin, of even sides, inside the picture."""
        across = max(_LEAST_MARGIN_PX, _MARGIN * (self.right - self.left) * width_px)
        down = max(_LEAST_MARGIN_PX, _MARGIN * (self.bottom - self.top) * height_px)
        around = Rect.around(
            self.left * width_px - across,
            self.top * height_px - down,
            self.right * width_px + across,
            self.bottom * height_px + down,
        )
        return around.meet(Rect(0, 0, width_px, height_px))


@dataclass(frozen=True)
class BoxPath:
    """A box on its way from `start_ms` to `end_ms`; it stands still before and after its places."""

    start_ms: Fraction
    end_ms: Fraction
    times_ms: tuple[Fraction, ...]
    boxes: tuple[Box, ...]

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "BoxPath":
        """Read `start_ms`, `end_ms` and `keyframes` of `t_ms`, `x`, `y`, `w`, `h`."""
        keyframes = told["keyframes"]
        return cls(
            Fraction(told["start_ms"]),
            Fraction(told["end_ms"]),
            tuple(Fraction(each["t_ms"]) for each in keyframes),
            tuple(
                Box(each["x"], each["y"], each["x"] + each["w"], each["y"] + each["h"])
                for each in keyframes
            ),
        )

    def touches(self, from_ms: Fraction, until_ms: Fraction) -> bool:
        """Tell whether a picture shows any of it; it is held half a picture at either end."""
        hold_ms = min((until_ms - from_ms) / 2, _LONGEST_HOLD_MS)
        is_begun = until_ms > self.start_ms or from_ms >= self.start_ms - hold_ms
        return is_begun and from_ms <= self.end_ms + hold_ms

    def covered(self, from_ms: Fraction, until_ms: Fraction) -> Box:
        """Return the smallest box around all places in a stretch of time."""
        first, last = (
            max(self.start_ms, min(self.end_ms, each_ms)) for each_ms in (from_ms, until_ms)
        )
        covered = self._at(first).join(self._at(last))
        # Between places it goes straight, so nothing reaches farther than these.
        between = slice(bisect_right(self.times_ms, first), bisect_left(self.times_ms, last))
        for box in self.boxes[between]:
            covered = covered.join(box)
        return covered

    def _at(self, ms: Fraction) -> Box:
        after = bisect_right(self.times_ms, ms)
        if after == 0:
            return self.boxes[0]
        if after == len(self.times_ms):
            return self.boxes[-1]
        start_ms, end_ms = self.times_ms[after - 1 : after + 1]
        part = float((ms - start_ms) / (end_ms - start_ms))
        return self.boxes[after - 1].towards(self.boxes[after], part)


class HiddenBoxes:
    """All boxes of a film, asked for picture by picture, forward."""

    def __init__(self, paths: Iterable[BoxPath]) -> None:
        self._waiting = sorted(paths, key=lambda path: path.start_ms, reverse=True)
        self._begun: list[BoxPath] = []

    def covered(self, from_ms: Fraction, until_ms: Fraction) -> list[Box]:
        """Return what is to be hidden on the picture of this time."""
        while self._waiting and self._waiting[-1].start_ms <= until_ms + _LONGEST_HOLD_MS:
            self._begun.append(self._waiting.pop())
        self._begun = [path for path in self._begun if path.end_ms + _LONGEST_HOLD_MS >= from_ms]
        touching = (path for path in self._begun if path.touches(from_ms, until_ms))
        return [path.covered(from_ms, until_ms) for path in touching]
