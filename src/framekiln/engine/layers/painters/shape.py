"""Rectangles, ellipses and lines with antialiased edges. Chromium draws paths."""

from fractions import Fraction
from typing import Final

import cv2
import numpy as np

from framekiln.composition.layers import Colour, LayerState, PixelSize, ResolvedLayer
from framekiln.composition.layers.styles import Shape, ShapeKind
from framekiln.composition.layers.values import ShapeLayer
from framekiln.compositor.masks import rounded_mask
from framekiln.compositor.picture import Plane, Rgba
from framekiln.engine.layers.geometry import (
    MAX_DRAWN_PX,
    canvas_box,
    is_in_place,
    is_static,
    largest_scale,
)
from framekiln.engine.layers.painter import SourceImage

_FINER: Final = 4


class ShapePainter:
    """Draws one shape layer; redrawn only when its box has changed."""

    def __init__(self, layer: ResolvedLayer) -> None:
        assert isinstance(layer.layer, ShapeLayer)
        self._shape = layer.layer.shape
        self._is_static = is_static(layer)
        self._scale = largest_scale(layer)
        self._kept: tuple[tuple[int, int], Rgba] | None = None

    def content_size_at(self, time_s: Fraction) -> PixelSize | None:
        """None: it has the size of its box."""
        return None

    def image(self, state: LayerState) -> SourceImage:
        """Return the shape at the size of the box."""
        size = self._size(state)
        if self._kept is None or self._kept[0] != size:
            self._kept = (size, draw_shape(self._shape, size, size[0] / state.width))
        return SourceImage(("shape", size), sheet=self._kept[1])

    def close(self) -> None:
        """Release the drawing."""
        self._kept = None

    def _size(self, state: LayerState) -> tuple[int, int]:
        if self._is_static and is_in_place(state):
            edges = canvas_box(state, state.content, to_even=False)
            return min(edges.width, MAX_DRAWN_PX), min(edges.height, MAX_DRAWN_PX)
        sides = (state.width * self._scale, state.height * self._scale)
        wide, high = (max(1, min(MAX_DRAWN_PX, round(side))) for side in sides)
        return wide, high


def draw_shape(shape: Shape, size: tuple[int, int], scale: float) -> Rgba:
    """Return a shape as premultiplied RGBA; `scale` is pixels per pixel of its box."""
    stroke = shape.stroke_width_px * scale
    if shape.kind is ShapeKind.LINE:
        return _line(shape, size, stroke or scale)
    outer = _mask(shape, size, 0.0, scale)
    if stroke <= 0 or shape.stroke_color.is_transparent:
        return _painted(outer, shape.color)
    inner = _mask(shape, size, stroke, scale)
    rim = np.asarray(cv2.subtract(outer, inner), np.uint8)
    edge = _painted(rim, shape.stroke_color)
    return np.asarray(cv2.add(_painted(inner, shape.color), edge), np.uint8)


def _mask(shape: Shape, size: tuple[int, int], inset: float, scale: float) -> Plane:
    """Return the coverage of each pixel by the shape, reduced by `inset` on each side."""
    width, height = size
    ys, xs = np.ogrid[: height * _FINER, : width * _FINER]
    x, y = (xs + 0.5) / _FINER - width / 2, (ys + 0.5) / _FINER - height / 2
    half_x, half_y = max(width / 2 - inset, 0.0), max(height / 2 - inset, 0.0)
    if shape.kind is ShapeKind.ELLIPSE:
        inside = (x / max(half_x, 1e-9)) ** 2 + (y / max(half_y, 1e-9)) ** 2 <= 1
    elif inset == 0:
        return rounded_mask(width, height, shape.border_radius_px * scale)
    else:
        radius = max(0.0, min(shape.border_radius_px * scale, width / 2, height / 2) - inset)
        dx = np.maximum(np.abs(x) - (half_x - radius), 0)
        dy = np.maximum(np.abs(y) - (half_y - radius), 0)
        corner = dx * dx + dy * dy <= radius * radius
        inside = (np.abs(x) <= half_x) & (np.abs(y) <= half_y) & corner
    fine = inside.astype(np.uint8) * 255
    return np.asarray(cv2.resize(fine, size, interpolation=cv2.INTER_AREA), np.uint8)


def _line(shape: Shape, size: tuple[int, int], thick: float) -> Rgba:
    width, height = size
    colour = shape.color if shape.stroke_color.is_transparent else shape.stroke_color
    is_lying = width >= height
    across = height if is_lying else width
    places = (np.arange(across * _FINER) + 0.5) / _FINER
    fine = (np.abs(places - across / 2) <= thick / 2).astype(np.float32)
    cover = np.rint(fine.reshape(across, _FINER).mean(axis=1) * 255).astype(np.uint8)
    mask = np.repeat(cover[:, None], width, axis=1) if is_lying else np.tile(cover, (height, 1))
    return _painted(mask, colour)


def _painted(mask: Plane, colour: Colour) -> Rgba:
    cover = np.asarray(mask, np.float32)[..., None] * (colour.alpha / 255)
    tone = np.array([colour.red, colour.green, colour.blue, 255], np.float32) / 255
    painted: Rgba = np.rint(cover * tone).astype(np.uint8)
    return painted
