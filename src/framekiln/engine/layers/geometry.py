"""The position of a layer on the canvas, and the source resolution that it needs. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, hypot
from typing import Final

import numpy as np

from framekiln.composition.layers import LayerState, Rect, ResolvedLayer, state_at
from framekiln.composition.layers.boxes import map_point
from framekiln.composition.layers.transitions import Preset, Property
from framekiln.compositor.placement import Matrix, scale_matrix, translation_matrix

_MOVING: Final = (
    Property.X,
    Property.Y,
    Property.SCALE,
    Property.ANGLE,
    Property.ANGLE_X,
    Property.ANGLE_Y,
    Property.WIDTH,
    Property.HEIGHT,
)
MAX_DRAWN_PX: Final = 4096
"""The most pixels a side of what is drawn for a layer, as large as the largest canvas."""
_MAX_IN_PLACE_PX: Final = 2 * MAX_DRAWN_PX
_SAME_PX: Final = 1e-4
_STATES_PER_S: Final = 10
_MAX_STATES: Final = 120


@dataclass(frozen=True)
class CanvasBox:
    """A rectangle of whole canvas pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def matrix(self) -> Matrix:
        """The matrix from a picture of this size to its position."""
        return translation_matrix(self.left, self.top)


def is_static(layer: ResolvedLayer) -> bool:
    """Whether a layer keeps its position all the time."""
    curves = (layer.curves[which] for which in _MOVING if which in layer.curves)
    is_moved = any(not curve.is_constant for curve in curves)
    return not is_moved and not any(isinstance(each, Preset) for each in layer.layer.transitions)


def is_upright(state: LayerState) -> bool:
    """Whether it is only translated and scaled."""
    return all(angle % 360 == 0 for angle in (state.angle, state.angle_x, state.angle_y))


def is_in_place(state: LayerState) -> bool:
    """Whether a layer can be made in the very pixels of the canvas: it is upright, and not huge.

    A larger one is made smaller and enlarged: of that, only what is on the canvas takes memory.
    """
    side_px = max(state.width, state.height) * state.scale
    return is_upright(state) and side_px <= _MAX_IN_PLACE_PX


def whole_area(state: LayerState) -> Rect:
    """Return the area of the whole source relative to the box, including cropped parts."""
    content, crop = state.content, state.crop
    width, height = content.width / crop.width, content.height / crop.height
    return Rect(content.left - crop.left * width, content.top - crop.top * height, width, height)


def canvas_box(state: LayerState, area: Rect, *, to_even: bool) -> CanvasBox:
    """Return the whole pixels that a part of an upright box covers.

    With `to_even`, edges between pixels move to even pixels, which cost nothing in 4:2:0. Edges on
    whole pixels are not moved.
    """
    left, top = map_point(state.matrix, area.left, area.top)
    right, bottom = map_point(state.matrix, area.left + area.width, area.top + area.height)
    edges = [_whole(edge, to_even=to_even) for edge in (left, top, right, bottom)]
    return CanvasBox(edges[0], edges[1], max(1, edges[2] - edges[0]), max(1, edges[3] - edges[1]))


def _whole(edge: float, *, to_even: bool) -> int:
    nearest = int(np.floor(edge + 0.5))
    if not to_even or abs(edge - nearest) < _SAME_PX:
        return nearest
    return 2 * int(np.floor(edge / 2 + 0.5))


def canvas_matrix(state: LayerState, area: Rect, width_px: float, height_px: float) -> Matrix:
    """Return the matrix from the pixels of a picture that fills an area to the canvas."""
    fill = translation_matrix(area.left, area.top) @ scale_matrix(
        area.width / width_px, area.height / height_px
    )
    matrix: Matrix = np.array(state.matrix, np.float64) @ fill
    return matrix


def sampled_states(layer: ResolvedLayer) -> Iterator[LayerState]:
    """Yield a layer's states at sample times over its duration, and at every keyframe."""
    if is_static(layer):
        yield state_at(layer, max(layer.start_s, Fraction(0)))
        return
    span_s = layer.end_s - layer.start_s
    count = min(_MAX_STATES, ceil(span_s * _STATES_PER_S)) + 1
    times = {layer.start_s + span_s * n / count for n in range(count + 1)}
    for curve in layer.curves.values():
        times |= {point.time_s + layer.zero_s for point in curve.points}
    for time_s in sorted(time for time in times if layer.start_s <= time <= layer.end_s):
        yield state_at(layer, time_s)


def largest_scale(layer: ResolvedLayer) -> float:
    """Return the largest scale of a box."""
    return max((_scale(state) for state in sampled_states(layer)), default=1.0)


def largest_side_px(layer: ResolvedLayer) -> tuple[int, int]:
    """Return the largest size of the whole source on the canvas, bounded, in even pixels."""
    sides = [(1.0, 1.0)]
    for state in sampled_states(layer):
        area, scale = whole_area(state), _scale(state)
        sides.append((area.width * scale, area.height * scale))
    width, height = bounded(max(wide for wide, _ in sides), max(high for _, high in sides))
    return nearest_even(width), nearest_even(height)


def bounded(width: float, height: float, *, at_most: int = MAX_DRAWN_PX) -> tuple[float, float]:
    """Return a size, reduced in proportion to that many pixels a side."""
    shrink = min(1.0, at_most / max(width, height))
    return width * shrink, height * shrink


def nearest_even(side: float) -> int:
    """Return the nearest even number of pixels, at least two."""
    return max(2, 2 * round(side / 2))


def _scale(state: LayerState) -> float:
    """Return the scale; for a tilted box, that of the point nearest to the viewer."""
    if state.perspective_px <= 0 or is_upright(state):
        return state.scale
    reach = hypot(state.width, state.height) * state.scale / 2
    near = max(0.2, 1 - reach / state.perspective_px)
    return state.scale / near
