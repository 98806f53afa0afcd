"""The box of a layer: its size, the part of the source in it, and its transform on the canvas.

One 3x3 matrix leads from the pixels of the box to the pixels of the canvas. Content is scaled and
rotated, then tilted, about the origin, like CSS `rotateX() rotateY() rotateZ() scale()` with a
transform-origin. Angles are clockwise.
"""

import math
from dataclasses import dataclass
from typing import Final

from framekiln.composition.layers.geometry import Align, Crop, Focus, Format, Position, Size
from framekiln.composition.layers.sources import PixelSize

Matrix = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]
"""Rows; applied to (x, y, 1), then divided by the third."""


@dataclass(frozen=True)
class Transform:
    """Everything except for the box itself."""

    x: float
    y: float
    origin_x: float
    origin_y: float
    scale: float = 1.0
    angle: float = 0.0
    angle_x: float = 0.0
    angle_y: float = 0.0
    perspective_px: float = 0.0


def transform_matrix(turn: Transform) -> Matrix:
    """Return T(x,y) T(o) P Rx Ry Rz S T(-o) for points of the box's plane."""
    spin, tilt_x, tilt_y = (
        math.radians(degrees % 360) for degrees in (turn.angle, turn.angle_x, turn.angle_y)
    )
    sz, cz = math.sin(spin) * turn.scale, math.cos(spin) * turn.scale
    sx, cx = math.sin(tilt_x), math.cos(tilt_x)
    sy, cy = math.sin(tilt_y), math.cos(tilt_y)
    # The images of the plane's two axes: columns of Rx Ry Rz S. The third coordinate is zero.
    across = (cy * cz, cx * sz + sx * sy * cz, sx * sz - cx * sy * cz)
    down = (-cy * sz, cx * cz - sx * sy * sz, sx * cz + cx * sy * sz)
    depth = 0.0 if turn.perspective_px <= 0 else -1 / turn.perspective_px
    left, top = turn.x + turn.origin_x, turn.y + turn.origin_y
    columns = [
        (
            direction[0] + left * depth * direction[2],
            direction[1] + top * depth * direction[2],
            depth * direction[2],
        )
        for direction in (across, down)
    ]
    (a, d, g), (b, e, h) = columns
    ox, oy = turn.origin_x, turn.origin_y
    return (
        (a, b, left - a * ox - b * oy),
        (d, e, top - d * ox - e * oy),
        (g, h, 1 - g * ox - h * oy),
    )


def map_point(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Return the position of a point of the box on the canvas."""
    across, down, by = (row[0] * x + row[1] * y + row[2] for row in matrix)
    # On the horizon a point is infinitely far away.
    return (across / by, down / by) if by > 1e-12 else (math.inf, math.inf)


@dataclass(frozen=True)
class Rect:
    """A rectangle; where it is used says its unit."""

    left: float
    top: float
    width: float
    height: float

    def intersection(self, other: "Rect") -> "Rect":
        """Return the part in both; without one, a rectangle without area."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        right = min(self.left + self.width, other.left + other.width)
        bottom = min(self.top + self.height, other.top + other.height)
        return Rect(left, top, max(0.0, right - left), max(0.0, bottom - top))


WHOLE: Final = Rect(0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class LayoutBox:
    """A box in pixels: `crop`, as fractions of the source, is drawn into `content`."""

    width: float
    height: float
    content: Rect
    crop: Rect = WHOLE


def lay_out_media(size: Size, natural: PixelSize, canvas: PixelSize) -> LayoutBox:
    """Return the box of content with its own size: an image, an animation, a group."""
    crop = _kept(size.crop)
    shown = PixelSize(natural.width * crop.width, natural.height * crop.height)
    width, height = _sides(size, shown, canvas)
    if size.format is Format.FIT:
        return LayoutBox(width, height, _fitted(shown, width, height), crop)
    if size.format is Format.FILL:
        part = _covering(shown, PixelSize(width, height), size.focus, crop)
        return LayoutBox(width, height, Rect(0, 0, width, height), part)
    return LayoutBox(width, height, Rect(0, 0, width, height), crop)


def lay_out_drawn(size: Size, natural: PixelSize) -> LayoutBox:
    """Return the box of content that is drawn at the size of its box: text, a page, a shape."""
    width = size.width_px or natural.width
    height = size.height_px or natural.height
    return LayoutBox(width, height, Rect(0, 0, width, height))


def place_box(position: Position, box: PixelSize, canvas: PixelSize) -> tuple[float, float]:
    """Return the upper left corner of a box of that size on the canvas."""
    return (
        _edge(position.x, box.width, canvas.width, is_relative=position.is_relative),
        _edge(position.y, box.height, canvas.height, is_relative=position.is_relative),
    )


def _edge(at: float | Align, side: float, whole: float, *, is_relative: bool) -> float:
    if at is Align.START:
        return 0.0
    if at is Align.CENTER:
        return (whole - side) / 2
    if at is Align.END:
        return whole - side
    return at * whole if is_relative else at


def _kept(crop: Crop) -> Rect:
    return Rect(crop.left, crop.top, 1 - crop.left - crop.right, 1 - crop.top - crop.bottom)


def _sides(size: Size, shown: PixelSize, canvas: PixelSize) -> tuple[float, float]:
    width, height = size.width_px, size.height_px
    if size.format is not None:
        return width or canvas.width, height or canvas.height
    if width is None and height is None:
        return shown.width, shown.height
    if height is None:
        assert width is not None
        return width, width * shown.height / shown.width
    return (height * shown.width / shown.height if width is None else width), height


def _fitted(shown: PixelSize, width: float, height: float) -> Rect:
    scale = min(width / shown.width, height / shown.height)
    inner = PixelSize(shown.width * scale, shown.height * scale)
    return Rect((width - inner.width) / 2, (height - inner.height) / 2, inner.width, inner.height)


def _covering(shown: PixelSize, box: PixelSize, focus: Focus, crop: Rect) -> Rect:
    scale = max(box.width / shown.width, box.height / shown.height)
    across = min(1.0, box.width / (shown.width * scale))
    down = min(1.0, box.height / (shown.height * scale))
    return Rect(
        crop.left + crop.width * (1 - across) * focus.x,
        crop.top + crop.height * (1 - down) * focus.y,
        crop.width * across,
        crop.height * down,
    )
