"""Makes a redacted copy of a film: boxes are hidden, and spans of sound are muted.

A box is filled from the pixels around all boxes; no pixel inside any box is used. Runs in a
confined child process (`task`).
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.compositor.fill import RING_PX, hide
from framekiln.compositor.picture import Picture
from framekiln.compositor.rect import PixelRect
from framekiln.media.redaction import ShownFrame, redact

_MIN_MARGIN_PX: Final = 8
_MARGIN: Final = 0.05
"""A fraction of a box's side, added on either side, because people draw boxes tight."""
_MAX_HOLD_MS: Final = Fraction(50)


@dataclass(frozen=True)
class RedactionBox:
    """A box in fractions of the picture's width and height, as shown."""

    left: float
    top: float
    right: float
    bottom: float

    def union(self, other: "RedactionBox") -> "RedactionBox":
        """Return the smallest box around both."""
        return RedactionBox(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )

    def interpolated(self, other: "RedactionBox", part: float) -> "RedactionBox":
        """Return the box at `part` of the way from this one to another."""
        return RedactionBox(
            self.left + part * (other.left - self.left),
            self.top + part * (other.top - self.top),
            self.right + part * (other.right - self.right),
            self.bottom + part * (other.bottom - self.bottom),
        )

    def pixel_rect(self, width_px: int, height_px: int) -> PixelRect:
        """Return the pixels to hide: with a margin and even sides, inside the picture."""
        across = max(_MIN_MARGIN_PX, _MARGIN * (self.right - self.left) * width_px)
        down = max(_MIN_MARGIN_PX, _MARGIN * (self.bottom - self.top) * height_px)
        around = PixelRect.around(
            self.left * width_px - across,
            self.top * height_px - down,
            self.right * width_px + across,
            self.bottom * height_px + down,
        )
        return around.intersection(PixelRect(0, 0, width_px, height_px))


@dataclass(frozen=True)
class MovingBox:
    """A box that moves between keyframes, and stands still before the first and after the last."""

    start_ms: Fraction
    end_ms: Fraction
    times_ms: tuple[Fraction, ...]
    boxes: tuple[RedactionBox, ...]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "MovingBox":
        """Read `start_ms`, `end_ms` and `keyframes` of `t_ms`, `x`, `y`, `w`, `h`."""
        keyframes = data["keyframes"]
        return cls(
            Fraction(data["start_ms"]),
            Fraction(data["end_ms"]),
            tuple(Fraction(each["t_ms"]) for each in keyframes),
            tuple(
                RedactionBox(each["x"], each["y"], each["x"] + each["w"], each["y"] + each["h"])
                for each in keyframes
            ),
        )

    def is_shown_between(self, from_ms: Fraction, until_ms: Fraction) -> bool:
        """Return whether a frame shows the box, which is extended by half a frame at either end."""
        hold_ms = min((until_ms - from_ms) / 2, _MAX_HOLD_MS)
        return self.start_ms - hold_ms < until_ms and from_ms <= self.end_ms + hold_ms

    def area_between(self, from_ms: Fraction, until_ms: Fraction) -> RedactionBox:
        """Return the smallest box around all its positions in a span of time."""
        first, last = (
            max(self.start_ms, min(self.end_ms, each_ms)) for each_ms in (from_ms, until_ms)
        )
        covered = self._at(first).union(self._at(last))
        # Between keyframes it moves in a straight line, so these positions are the extremes.
        between = slice(bisect_right(self.times_ms, first), bisect_left(self.times_ms, last))
        for box in self.boxes[between]:
            covered = covered.union(box)
        return covered

    def _at(self, ms: Fraction) -> RedactionBox:
        after = bisect_right(self.times_ms, ms)
        if after == 0:
            return self.boxes[0]
        if after == len(self.times_ms):
            return self.boxes[-1]
        start_ms, end_ms = self.times_ms[after - 1 : after + 1]
        part = float((ms - start_ms) / (end_ms - start_ms))
        return self.boxes[after - 1].interpolated(self.boxes[after], part)


class RedactionBoxes:
    """All boxes of a film, queried frame by frame in order."""

    def __init__(self, paths: Iterable[MovingBox]) -> None:
        self._waiting = sorted(paths, key=lambda path: path.start_ms, reverse=True)
        self._begun: list[MovingBox] = []

    def areas_between(self, from_ms: Fraction, until_ms: Fraction) -> list[RedactionBox]:
        """Return the areas to hide in the frame of this span of time."""
        while self._waiting and self._waiting[-1].start_ms <= until_ms + _MAX_HOLD_MS:
            self._begun.append(self._waiting.pop())
        self._begun = [path for path in self._begun if path.end_ms + _MAX_HOLD_MS >= from_ms]
        touching = (path for path in self._begun if path.is_shown_between(from_ms, until_ms))
        return [path.area_between(from_ms, until_ms) for path in touching]


_GREY: Final = 128

Report = Callable[[dict[str, Any]], None]


def task(args: dict[str, Any], report: Report) -> dict[str, Any]:
    """Redact `source` into `out`; the JSON file `order` has the `boxes` and `mutes`."""
    order = json.loads(Path(args["order"]).read_bytes())
    hiding = _BoxFiller(RedactionBoxes(map(MovingBox.from_json, order["boxes"])))
    muted = [(Fraction(each["start_ms"]), Fraction(each["end_ms"])) for each in order["mutes"]]
    made = redact(
        Path(args["source"]),
        Path(args["out"]),
        draw=hiding.draw,
        muted=muted,
        on_progress=lambda part: report({"thousandths": int(part * 1000)}),
    )
    return {
        "width_px": made.width_px,
        "height_px": made.height_px,
        "fps": str(made.fps),
        "duration_ms": made.duration_ms,
    }


@dataclass(frozen=True)
class _BoxFiller:
    """Fills the boxes of each frame."""

    boxes: RedactionBoxes

    def draw(self, shown: ShownFrame) -> None:
        """Hide the boxes of a frame."""
        picture = Picture(shown.luma, shown.blue, shown.red)
        covered = self.boxes.areas_between(shown.from_ms, shown.until_ms)
        rects = [box.pixel_rect(picture.width_px, picture.height_px) for box in covered]
        hide_all(picture, rects)


def hide_all(picture: Picture, rects: list[PixelRect]) -> None:
    """Fill rectangles, which may overlap or touch, so that none is filled from another."""
    close = [rect for at, rect in enumerate(rects) if _is_close(rect, rects[:at] + rects[at + 1 :])]
    for rect in close:
        _blank(picture, rect)
    # The first of two neighbours is filled from the grey of the other, so they are filled twice.
    for rect in (*close, *rects):
        hide(picture, rect)


def _is_close(rect: PixelRect, others: Sequence[PixelRect]) -> bool:
    """Whether pixels of another rectangle are among those that this one is filled from."""
    around = PixelRect(
        rect.left - RING_PX, rect.top - RING_PX, rect.right + RING_PX, rect.bottom + RING_PX
    )
    return any(around.overlaps(other) for other in others)


def _blank(picture: Picture, rect: PixelRect) -> None:
    picture.y[rect.top : rect.bottom, rect.left : rect.right] = _GREY
    half = slice(rect.top // 2, rect.bottom // 2), slice(rect.left // 2, rect.right // 2)
    picture.u[half] = picture.v[half] = _GREY
