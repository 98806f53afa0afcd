"""The box of a layer before any transform: its size, and the part of the source in it."""

from dataclasses import dataclass
from typing import Final

from framekiln.composition.layers.geometry import Align, Crop, Focus, Format, Position, Size
from framekiln.composition.layers.sources import PixelSize


@dataclass(frozen=True)
class Rect:
    """A rectangle; where it is used says its unit."""

    left: float
    top: float
    width: float
    height: float


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
