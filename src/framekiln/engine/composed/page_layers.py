"""The layers of a page and their states in each frame, as the page reports them.

`runtime/src/motion/page_layers.ts` is the page side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framekiln.compositor.placement import Matrix

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in CSS pixels of the page where nothing has moved."""

_VALUES = 8


@dataclass(frozen=True)
class LayerClip:
    """A box that cuts off the layer. The first `depth` movers of the layer move the box, too."""

    box: Box
    depth: int


@dataclass(frozen=True)
class PageLayer:
    """What moves as one piece."""

    number: int
    chain: tuple[int, ...]
    """The movers that it follows, outermost first."""
    clips: tuple[LayerClip, ...]
    box: Box
    """Around its elements and texts."""
    reach_px: float
    """How far shadows and glyphs may reach beyond the box."""
    baseline: float | None
    """Of its first text, if it is nothing but text."""
    frame: int
    """A frame in which all of it is shown."""

    @property
    def ink(self) -> Box:
        """Around all that it may draw."""
        left, top, right, bottom = self.box
        reach = self.reach_px
        return left - reach, top - reach, right + reach, bottom + reach


@dataclass(frozen=True)
class PageLayers:
    """All layers, bottom first."""

    layers: tuple[PageLayer, ...]
    mover_count: int

    @classmethod
    def read(cls, report: dict[str, Any]) -> "PageLayers":
        """Read the report of a page without obstacles."""
        layers = tuple(
            PageLayer(
                number=number,
                chain=tuple(each["chain"]),
                clips=tuple(LayerClip(_box(clip["box"]), clip["depth"]) for clip in each["clips"]),
                box=_box(each["box"]),
                reach_px=each["reachPx"],
                baseline=each["baseline"],
                frame=each["frame"],
            )
            for number, each in enumerate(report["layers"])
        )
        return cls(layers, report["movers"])


def _box(edges: Sequence[float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right, bottom


@dataclass(frozen=True)
class MoverState:
    """One mover in one frame."""

    is_visible: bool
    opacity: float
    matrix: Matrix


class MotionStates:
    """The states of all movers in consecutive frames."""

    def __init__(self, first_frame: int, mover_count: int, numbers: Sequence[float]) -> None:
        self._first = first_frame
        self._movers = mover_count
        shape = (-1, mover_count, _VALUES) if mover_count else (0, 0, _VALUES)
        self._numbers: NDArray[np.float64] = np.array(numbers, np.float64).reshape(shape)

    def of(self, frame: int) -> tuple[MoverState, ...]:
        """Return the states in a frame, by mover."""
        if not self._movers:
            return ()
        return tuple(_state(values) for values in self._numbers[frame - self._first].tolist())

    def changes(self) -> list[int]:
        """Return the frames that show a mover for the first time, or no longer."""
        if len(self._numbers) < 2:
            return []
        seen = (self._numbers[:, :, 0] > 0) & (self._numbers[:, :, 1] > 0)
        changed = (seen[1:] != seen[:-1]).any(axis=1)
        return [self._first + 1 + int(at) for at in np.flatnonzero(changed)]


def _state(values: list[float]) -> MoverState:
    visible, opacity, a, b, c, d, e, f = values
    matrix = np.array([[a, c, e], [b, d, f], [0, 0, 1]], np.float64)
    return MoverState(bool(visible), min(1.0, max(0.0, opacity)), matrix)
