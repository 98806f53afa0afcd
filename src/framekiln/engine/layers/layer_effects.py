"""Effects of a layer on its source image: crop, flip, key, filters, rounded corners, blur.

The order is that of CSS: first the content, then filters, then the shape of the box and the blur.
The position of the box on the canvas matters only for static boxes. Those are made in canvas
pixels, so that no warp is needed.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import cv2
import numpy as np

from framekiln.composition.layers import Colour as ConfigColour
from framekiln.composition.layers import LayerState, Rect
from framekiln.composition.layers.boxes import WHOLE
from framekiln.composition.layers.filters import FilterName
from framekiln.composition.layers.geometry import Flip
from framekiln.composition.layers.state import FilterState
from framekiln.composition.layers.values import ChromaKey, Layer, VisualLayer
from framekiln.compositor.adjustments import (
    INVERT,
    UNCHANGED,
    VINTAGE,
    Adjustment,
    blur,
    brightness,
    colour_overlay,
    contrast,
    lighten,
    saturation,
)
from framekiln.compositor.filters import EdgeFilter, PictureFilter, apply_filter
from framekiln.compositor.masks import chroma_keyed, flipped, masked, rounded_mask
from framekiln.compositor.picture import (
    Picture,
    Plane,
    Rgba,
    YuvColour,
    crop_picture,
    picture_of_premultiplied,
)
from framekiln.compositor.placement import Matrix, resize, scale_matrix, translation_matrix
from framekiln.compositor.rect import PixelRect as Pixels
from framekiln.engine.layers.geometry import CanvasBox, canvas_box, canvas_matrix, nearest_even
from framekiln.engine.layers.painter import SourceImage

_LIGHTER: Final = 0.2


def yuv_colour(colour: ConfigColour) -> YuvColour:
    """Return a colour of a config in plane values."""
    return YuvColour.of_rgb(colour.red, colour.green, colour.blue, colour.alpha / 255)


def picture_filter(each: FilterState) -> PictureFilter:
    """Return the effect of one filter."""
    return _ONE[each.name](each)


def picture_filters(filters: Iterable[FilterState]) -> list[PictureFilter]:
    """Return the effects of several filters in order, merged where that is exact.

    Two are merged unless the first goes out of gamut, because that is clipped in between.
    """
    found: list[PictureFilter] = [UNCHANGED]
    for each in filters:
        last, one = found[-1], picture_filter(each)
        found[-1:] = [last, one] if (folded := _folded(last, one)) is None else [folded]
    return found


def _folded(first: PictureFilter, second: PictureFilter) -> PictureFilter | None:
    if isinstance(first, EdgeFilter) or isinstance(second, EdgeFilter) or not first.stays_in_range:
        return None
    return first.then(second)


def _faded(each: FilterState) -> Adjustment:
    colour = yuv_colour(each.colour)
    return colour_overlay(colour, each.cover * colour.alpha)


_ONE: Final[dict[FilterName, Callable[[FilterState], PictureFilter]]] = {
    FilterName.BRIGHTNESS: lambda each: brightness(each.percent / 100),
    FilterName.CONTRAST: lambda each: contrast(each.percent / 100),
    FilterName.SATURATION: lambda each: saturation(each.percent / 100),
    FilterName.GRAYSCALE: lambda each: saturation(1 - each.percent / 100),
    FilterName.NEGATIVE: lambda _: INVERT,
    FilterName.LIGHTEN: lambda _: lighten(_LIGHTER),
    FilterName.VINTAGE: lambda _: VINTAGE,
    FilterName.SOBEL: lambda _: EdgeFilter(),
    FilterName.FADE_IN: _faded,
    FilterName.FADE_OUT: _faded,
}


@dataclass(frozen=True, eq=False)
class LayerPicture:
    """A picture that fills `area` of the box, or has the canvas position `onto`."""

    picture: Picture
    area: Rect
    canvas_matrix: Matrix | None = None

    def matrix(self, state: LayerState) -> Matrix:
        """Return the matrix from its pixels to the canvas."""
        if self.canvas_matrix is not None:
            return self.canvas_matrix
        return canvas_matrix(state, self.area, self.picture.width_px, self.picture.height_px)


def effects_key(state: LayerState, *, is_static: bool) -> Hashable:
    """Return the part of a state that `apply_effects` uses."""
    return (state.picture_key, state.matrix) if is_static else state.picture_key


def apply_effects(
    image: SourceImage, state: LayerState, layer: Layer, *, is_static: bool
) -> LayerPicture:
    """Return the layer's picture; `stands` means that it is upright and static."""
    if image.sheet is not None and is_static:
        layer_picture = _of_sheet(image, image.sheet, state, layer)
    else:
        picture = image.picture
        if picture is None:
            assert image.sheet is not None
            picture = picture_of_premultiplied(image.sheet)
        layer_picture = _of_picture(image, picture, state, layer)
        if is_static:
            layer_picture = _at_canvas_size(layer_picture, state)
    picture = layer_picture.picture
    if key := getattr(layer, "chroma_key", None):
        picture = _keyed(picture, key)
    for adjustment in picture_filters(state.filters):
        picture = apply_filter(picture, adjustment)
    layer_picture = replace(layer_picture, picture=picture)
    return _blurred(_revealed(_rounded(layer_picture, state, layer), state), state)


def _of_sheet(image: SourceImage, sheet: Rgba, state: LayerState, layer: Layer) -> LayerPicture:
    """Resize a still to exactly the pixels it covers on the canvas, even or odd."""
    area = _area(image, state, layer)
    if image.area is None and state.crop != WHOLE:
        sheet = _cropped(sheet, state.crop)
    edges = canvas_box(state, area, to_even=False)
    sheet = _mirrored(_fitted(sheet, edges), layer)
    left, top = edges.left % 2, edges.top % 2
    right, bottom = (edges.width + left) % 2, (edges.height + top) % 2
    if left or top or right or bottom:
        sheet = np.pad(sheet, ((top, bottom), (left, right), (0, 0)))
    corner = (edges.left - left, edges.top - top)
    x_px, y_px = area.width / edges.width, area.height / edges.height
    padded = Rect(
        area.left - left * x_px,
        area.top - top * y_px,
        sheet.shape[1] * x_px,
        sheet.shape[0] * y_px,
    )
    return LayerPicture(picture_of_premultiplied(sheet), padded, translation_matrix(*corner))


def _of_picture(
    image: SourceImage, picture: Picture, state: LayerState, layer: Layer
) -> LayerPicture:
    area = _area(image, state, layer)
    if image.area is None and state.crop != WHOLE:
        picture = _cut_crop(picture, state)
    flip = _flip_of(layer)
    if flip is not Flip.NONE:
        picture = flipped(
            picture,
            left_right=flip in (Flip.X, Flip.BOTH),
            top_bottom=flip in (Flip.Y, Flip.BOTH),
        )
    return LayerPicture(picture, area)


def _area(image: SourceImage, state: LayerState, layer: Layer) -> Rect:
    """Return the part of the box that the image fills, flipped with the content."""
    area, flip = image.area or state.content, _flip_of(layer)
    if image.area is None:
        return area
    left, top = area.left, area.top
    if flip in (Flip.X, Flip.BOTH):
        left = state.width - area.left - area.width
    if flip in (Flip.Y, Flip.BOTH):
        top = state.height - area.top - area.height
    return Rect(left, top, area.width, area.height)


def _at_canvas_size(layer_picture: LayerPicture, state: LayerState) -> LayerPicture:
    edges = canvas_box(state, layer_picture.area, to_even=True)
    picture = layer_picture.picture
    is_larger = picture.width_px > edges.width and picture.height_px > edges.height
    if is_larger and edges.width % 2 == edges.height % 2 == 0:
        # Done first, so that the following steps have fewer pixels to change.
        picture = resize(picture, edges.width, edges.height)
    factors = (edges.width / picture.width_px, edges.height / picture.height_px)
    return replace(
        layer_picture, picture=picture, canvas_matrix=edges.matrix @ scale_matrix(*factors)
    )


def _cut_crop(picture: Picture, state: LayerState) -> Picture:
    """Crop at even pixels: the content moves by less than one pixel, the box does not move."""
    width, height = picture.width_px, picture.height_px
    crop = state.crop
    wide, high = (
        min(width, nearest_even(crop.width * width)),
        min(height, nearest_even(crop.height * height)),
    )
    left = min(width - wide, 2 * round(crop.left * width / 2))
    top = min(height - high, 2 * round(crop.top * height / 2))
    return crop_picture(picture, Pixels(left, top, left + wide, top + high))


def _cropped(sheet: Rgba, crop: Rect) -> Rgba:
    height, width = sheet.shape[:2]
    left, top = round(crop.left * width), round(crop.top * height)
    right = max(left + 1, round((crop.left + crop.width) * width))
    bottom = max(top + 1, round((crop.top + crop.height) * height))
    return sheet[min(top, height - 1) : bottom, min(left, width - 1) : right]


def resize_sheet(sheet: Rgba, width_px: int, height_px: int) -> Rgba:
    """Return a premultiplied still at another size."""
    if sheet.shape[:2] == (height_px, width_px):
        return sheet
    is_smaller = width_px < sheet.shape[1] or height_px < sheet.shape[0]
    # Unlike other smooth interpolations, Lanczos gives the same bytes on every processor.
    how = cv2.INTER_AREA if is_smaller else cv2.INTER_LANCZOS4
    fitted = cv2.resize(np.ascontiguousarray(sheet), (width_px, height_px), interpolation=how)
    pixels = np.asarray(fitted, np.uint8)
    if not is_smaller:
        # Interpolation may overshoot, but no colour may exceed its alpha.
        np.minimum(pixels[..., :3], pixels[..., 3:], out=pixels[..., :3])
    return pixels


def _fitted(sheet: Rgba, edges: CanvasBox) -> Rgba:
    return resize_sheet(sheet, edges.width, edges.height)


def _flip_of(layer: Layer) -> Flip:
    return layer.size.flip if isinstance(layer, VisualLayer) else Flip.NONE


def _mirrored(sheet: Rgba, layer: Layer) -> Rgba:
    flip = _flip_of(layer)
    across = -1 if flip in (Flip.X, Flip.BOTH) else 1
    down = -1 if flip in (Flip.Y, Flip.BOTH) else 1
    return np.ascontiguousarray(sheet[::down, ::across])


def _keyed(picture: Picture, key: ChromaKey) -> Picture:
    colour = yuv_colour(key.color)
    found = chroma_keyed(picture, colour, similarity=key.similarity, blend=key.blend)
    return found


def _rounded(layer_picture: LayerPicture, state: LayerState, layer: Layer) -> LayerPicture:
    radius = layer.size.border_radius_px if isinstance(layer, VisualLayer) else 0.0
    if radius <= 0:
        return layer_picture
    picture, area = layer_picture.picture, layer_picture.area
    x_px, y_px = picture.width_px / area.width, picture.height_px / area.height
    box = (max(1, round(state.width * x_px)), max(1, round(state.height * y_px)))
    mask = rounded_mask(*box, radius * (x_px + y_px) / 2)
    corner = (round(area.left * x_px), round(area.top * y_px))
    return replace(layer_picture, picture=masked(picture, _window(mask, corner, picture)))


def _window(mask: Plane, corner: tuple[int, int], picture: Picture) -> Plane:
    """Return the part of a mask under a picture whose corner is at those mask pixels."""
    window = np.zeros_like(picture.y)
    left, top = corner
    part = mask[max(0, top) : top + len(window), max(0, left) : left + window.shape[1]]
    x, y = max(0, -left), max(0, -top)
    part = part[: len(window) - y, : window.shape[1] - x]
    window[y : y + part.shape[0], x : x + part.shape[1]] = part
    return window


def _revealed(layer_picture: LayerPicture, state: LayerState) -> LayerPicture:
    """Cut away what a wipe hides, at even pixels."""
    reveal = state.reveal
    if reveal == WHOLE:
        return layer_picture
    picture, area = layer_picture.picture, layer_picture.area
    x_px, y_px = picture.width_px / area.width, picture.height_px / area.height
    edges = (
        (reveal.left * state.width - area.left) * x_px,
        (reveal.top * state.height - area.top) * y_px,
        ((reveal.left + reveal.width) * state.width - area.left) * x_px,
        ((reveal.top + reveal.height) * state.height - area.top) * y_px,
    )
    window = Pixels(*(2 * round(edge / 2) for edge in edges)).intersection(
        Pixels(0, 0, picture.width_px, picture.height_px)
    )
    if window.is_empty:
        window = Pixels(0, 0, 2, 2)
        picture = masked(picture, np.zeros_like(picture.y))
    return _part(replace(layer_picture, picture=picture), window)


def _part(layer_picture: LayerPicture, window: Pixels) -> LayerPicture:
    picture, area = layer_picture.picture, layer_picture.area
    x, y = area.width / picture.width_px, area.height / picture.height_px
    onto = layer_picture.canvas_matrix
    return LayerPicture(
        crop_picture(picture, window),
        Rect(
            area.left + window.left * x,
            area.top + window.top * y,
            window.width_px * x,
            window.height_px * y,
        ),
        None if onto is None else onto @ translation_matrix(window.left, window.top),
    )


def _blurred(layer_picture: LayerPicture, state: LayerState) -> LayerPicture:
    if state.blur_px <= 0:
        return layer_picture
    picture, area = layer_picture.picture, layer_picture.area
    x, y = area.width / picture.width_px, area.height / picture.height_px
    sigma = state.blur_px / ((x + y) / 2)
    # A blur extends beyond the edges.
    margin = 2 * ceil(3 * sigma / 2)
    wide = Picture.of_planes(
        tuple(
            np.pad(plane, margin if plane.shape == picture.y.shape else margin // 2)
            for plane in picture.with_alpha().planes
        )
    )
    around = Rect(
        area.left - margin * x,
        area.top - margin * y,
        area.width + 2 * margin * x,
        area.height + 2 * margin * y,
    )
    onto = (
        None
        if layer_picture.canvas_matrix is None
        else layer_picture.canvas_matrix @ translation_matrix(-margin, -margin)
    )
    return LayerPicture(blur(wide, sigma), around, onto)
