"""The layers of a page and their states in each frame, as the page reports them.

`runtime/src/motion/page_layers.ts` is the page side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framekiln.compositor.placement import Matrix
from framekiln.engine.page.queries import source_address

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in CSS pixels of the page where nothing has moved."""

_VALUES = 13
_SAME_PX = 0.01


@dataclass(frozen=True)
class LayerClip:
    """A box that cuts off the layer. The first `depth` movers of the layer move the box, too."""

    box: Box
    depth: int
    radius_px: float = 0.0


@dataclass(frozen=True)
class Footage:
    """A video that is decoded and placed without the page."""

    address: str
    picture: Box
    """Where the whole picture would be, if nothing cut it off."""
    natural_px: tuple[int, int]
    is_whole: bool
    """Whether a filmed page gets its pictures in their own size."""


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
    footage: Footage | None
    """The video that is all of it, if it is one."""
    moved_baseline: float | None = None
    """The baseline once it is moved."""
    is_redrawn: bool = False
    """Whether it shows different pictures; box, reach and baseline are those of `LayerContent`."""
    has_edges: bool = True
    """Whether it has text or edges, which Chromium draws anew in each size."""
    has_glyphs: bool = True
    """Whether it has text or lines, which Chromium draws anew in each place between pixels."""

    @property
    def ink(self) -> Box:
        """Around all that it may draw."""
        return _around(self.box, self.reach_px)


@dataclass(frozen=True)
class LayerContent:
    """What a redrawn layer shows in a frame."""

    number: int
    """The same in frames that follow each other and show the same."""
    box: Box
    reach_px: float
    baseline: float | None
    moved_baseline: float | None

    @property
    def ink(self) -> Box:
        """Around all that it may draw."""
        return _around(self.box, self.reach_px)

    @property
    def is_empty(self) -> bool:
        """Whether it draws nothing."""
        left, top, right, bottom = self.box
        return right <= left or bottom <= top


def _around(box: Box, reach_px: float) -> Box:
    left, top, right, bottom = box
    return left - reach_px, top - reach_px, right + reach_px, bottom + reach_px


@dataclass(frozen=True)
class PageLayers:
    """All layers, bottom first."""

    layers: tuple[PageLayer, ...]
    mover_count: int

    @classmethod
    def read(cls, report: dict[str, Any]) -> "PageLayers":
        """Read the report of a page without obstacles."""
        layers = tuple(_layer(number, each) for number, each in enumerate(report["layers"]))
        return cls(layers, report["movers"])

    @property
    def footage(self) -> tuple[PageLayer, ...]:
        """The layers that are videos."""
        return tuple(layer for layer in self.layers if layer.footage is not None)

    @property
    def redrawn(self) -> tuple[PageLayer, ...]:
        """The layers that show different pictures."""
        return tuple(layer for layer in self.layers if layer.is_redrawn)


def _layer(number: int, report: dict[str, Any]) -> PageLayer:
    chain, box = tuple(report["chain"]), _box(report["box"])
    clips = [
        LayerClip(_box(clip["box"]), clip["depth"], clip["radiusPx"]) for clip in report["clips"]
    ]
    footage = None
    if (shown := report["footage"]) is not None:
        footage = Footage(
            address=_address(shown["source"]),
            picture=_on_pixels(_box(shown["picture"]), box),
            natural_px=(shown["widthPx"], shown["heightPx"]),
            is_whole=shown["isWhole"],
        )
        if shown["radiusPx"] > 0 or not _is_inside(footage.picture, box):
            clips.append(LayerClip(box, len(chain), shown["radiusPx"]))
    return PageLayer(
        number=number,
        chain=chain,
        clips=tuple(clips),
        box=box,
        reach_px=report["reachPx"],
        baseline=report["baseline"],
        moved_baseline=report["movedBaseline"],
        frame=report["frame"],
        footage=footage,
        is_redrawn=report["isRedrawn"],
        has_edges=report["hasEdges"],
        has_glyphs=report["hasGlyphs"],
    )


def _on_pixels(picture: Box, box: Box) -> Box:
    """Return where the picture of a video is: Chromium puts its box on whole pixels first."""
    left, top, right, bottom = (float(floor(edge + 0.5)) for edge in box)
    if picture == box:
        return left, top, max(right, left + 1), max(bottom, top + 1)
    x, y = left - box[0], top - box[1]
    return picture[0] + x, picture[1] + y, picture[2] + x, picture[3] + y


def _is_inside(inner: Box, outer: Box) -> bool:
    before = all(outer[at] <= inner[at] + _SAME_PX for at in (0, 1))
    return before and all(inner[at] <= outer[at] + _SAME_PX for at in (2, 3))


def _address(source: dict[str, Any]) -> str:
    return source_address({name: text for name, text in source.items() if text is not None})


def _box(edges: Sequence[float]) -> Box:
    left, top, right, bottom = edges
    return left, top, right, bottom


@dataclass(frozen=True)
class MoverState:
    """One mover in one frame."""

    is_visible: bool
    opacity: float
    matrix: Matrix
    clip: tuple[Box, float] | None
    """What its clip path leaves, with the radius of the corners, where nothing has moved."""


class MotionStates:
    """The states of all movers and videos in consecutive frames."""

    def __init__(self, first_frame: int, layers: PageLayers, samples: dict[str, Any]) -> None:
        self._first = first_frame
        self._movers = layers.mover_count
        shape = (-1, self._movers, _VALUES) if self._movers else (0, 0, _VALUES)
        self._numbers: NDArray[np.float64] = np.array(samples["movers"], np.float64).reshape(shape)
        self._footage = {layer.number: at for at, layer in enumerate(layers.footage)}
        self._source_ms: Sequence[float] = samples["footage"]
        self._redrawn = {layer.number: at for at, layer in enumerate(layers.redrawn)}
        self._contents: Sequence[Sequence[Any]] = samples["contents"]

    def of(self, frame: int) -> tuple[MoverState, ...]:
        """Return the states in a frame, by mover."""
        if not self._movers:
            return ()
        return tuple(_state(values) for values in self._numbers[frame - self._first].tolist())

    def source_ms(self, frame: int, layer: PageLayer) -> Fraction:
        """Return when in its source the picture of a video is that is due in a frame."""
        at = (frame - self._first) * len(self._footage) + self._footage[layer.number]
        return Fraction(f"{self._source_ms[at]:.5f}")

    def content(self, frame: int, layer: PageLayer) -> LayerContent:
        """Return what a redrawn layer shows in a frame."""
        at = (frame - self._first) * len(self._redrawn) + self._redrawn[layer.number]
        number, *box, reach_px, baseline, moved_baseline = self._contents[at]
        return LayerContent(number, _box(box), reach_px, baseline, moved_baseline)

    def changed_frames(self) -> int:
        """Return how many frames are not the same as the one before; at least the first."""
        parts: list[NDArray[Any]] = [self._content_numbers()]
        if self._movers:
            parts.append(self._numbers.reshape(-1, self._movers * _VALUES))
        if self._footage:
            parts.append(np.array(self._source_ms).reshape(-1, len(self._footage)))
        return _changed_rows(np.hstack([part for part in parts if part.size] or [np.zeros((1, 1))]))

    def redrawn_frames(self) -> int:
        """Return how many frames show a layer that has to be drawn for them."""
        return _changed_rows(self._content_numbers()) if self._redrawn else 0

    def changes(self) -> list[int]:
        """Return the frames that show a mover for the first time, or no longer."""
        if len(self._numbers) < 2:
            return []
        seen = (self._numbers[:, :, 0] > 0) & (self._numbers[:, :, 1] > 0)
        changed = (seen[1:] != seen[:-1]).any(axis=1)
        return [self._first + 1 + int(at) for at in np.flatnonzero(changed)]

    def _content_numbers(self) -> NDArray[np.int64]:
        """Return what each redrawn layer shows in each frame."""
        width = max(len(self._redrawn), 1)
        return np.array([each[0] for each in self._contents], np.int64).reshape(-1, width)


def _changed_rows(rows: NDArray[Any]) -> int:
    """Return how many rows differ from the one before; the first one counts."""
    return 1 + int((rows[1:] != rows[:-1]).any(axis=1).sum())


def _state(values: list[float]) -> MoverState:
    visible, opacity, a, b, c, d, e, f, *box, radius_px = values
    matrix = np.array([[a, c, e], [b, d, f], [0, 0, 1]], np.float64)
    clip = None if radius_px < 0 else (_box(box), radius_px)
    return MoverState(bool(visible), min(1.0, max(0.0, opacity)), matrix, clip)


def joined_matrix(states: Sequence[MoverState]) -> Matrix:
    """Return where several movers together put what is in them, outermost first."""
    matrix: Matrix = np.eye(3)
    for state in states:
        matrix = matrix @ state.matrix
    return matrix
