"""The target of drawing: an opaque frame, or an isolated group with its own alpha."""

from typing import Final

import cv2
import numpy as np

from framekiln.compositor.picture import BLACK, Picture, Plane, YuvColour, crop_picture
from framekiln.compositor.rect import PixelRect
from framekiln.pixels.blend import over, weighted_sum

# Half of a level of red, green and blue, in levels of luma. Chroma stays the same.
_HALF_LEVEL: Final = 0.5 * 219 / 255


class Canvas:
    """Planes that are drawn to in place. All rectangles passed to it have even corners."""

    def __init__(self, width_px: int, height_px: int, *, has_alpha: bool = False) -> None:
        assert width_px % 2 == 0, "4:2:0 needs even sides"
        assert height_px % 2 == 0, "4:2:0 needs even sides"
        self.rect = PixelRect(0, 0, width_px, height_px)
        half = (height_px // 2, width_px // 2)
        shapes = [(height_px, width_px), half, half]
        if has_alpha:
            shapes += [(height_px, width_px), half]
        self._planes = tuple(np.zeros(shape, np.uint8) for shape in shapes)
        if not has_alpha:
            self.fill(BLACK)

    @property
    def picture(self) -> Picture:
        """The current content; later drawing changes it."""
        return Picture.of_planes(self._planes)

    def move_to(self, planes: tuple[Plane, ...], *, is_kept: bool) -> None:
        """Continue drawing in other planes; `is_kept` copies the current content to them."""
        if is_kept:
            for new, old in zip(planes, self._planes, strict=True):
                np.copyto(new, old)
        self._planes = planes

    @property
    def has_alpha(self) -> bool:
        """Whether it is a group, which may be transparent."""
        return len(self._planes) > 3

    def fill(self, colour: YuvColour, rect: PixelRect | None = None) -> None:
        """Fill a rectangle with a colour; an opaque canvas mixes it with black by its alpha."""
        alpha = colour.alpha
        if self.has_alpha:
            levels = [round(level * alpha) for level in (colour.y, colour.u, colour.v)]
            levels += [round(255 * alpha)] * 2
        else:
            pairs = zip((colour.y, colour.u, colour.v), (16, 128, 128), strict=True)
            levels = [round(level * alpha + black * (1 - alpha)) for level, black in pairs]
        for view, level in zip(self._views(rect or self.rect), levels, strict=True):
            view[...] = level

    def draw(
        self,
        picture: Picture,
        *,
        at: tuple[int, int] = (0, 0),
        opacity: float = 1.0,
        clip: PixelRect | None = None,
        is_page_group: bool = False,
    ) -> None:
        """Draw a picture over the content, with its corner at even coordinates.

        Chromium fades a group of a page in another way than we do.
        """
        left, top = at
        box = PixelRect(left, top, left + picture.width_px, top + picture.height_px)
        seen = box.intersection(clip or self.rect).intersection(self.rect)
        if seen.is_empty or opacity <= 0:
            return
        source = crop_picture(picture, seen.moved(-left, -top))
        views = self._views(seen)
        if is_page_group and opacity < 1:
            _fade_as_chromium(views, source.with_alpha(), opacity)
        elif not source.has_alpha:
            _lay_opaque(views, source, min(opacity, 1.0))
        else:
            _lay_over(views, source, min(opacity, 1.0))

    def replace(self, picture: Picture, *, at: tuple[int, int]) -> None:
        """Replace the content by a picture, including alpha."""
        left, top = at
        box = PixelRect(left, top, left + picture.width_px, top + picture.height_px)
        source = picture.with_alpha() if self.has_alpha else picture
        for view, plane in zip(self._views(box), source.planes, strict=True):
            np.copyto(view, plane)

    def add(self, picture: Picture, *, share: float, clip: PixelRect | None = None) -> None:
        """Add a weighted picture of the same size: weights that sum to one make a dissolve."""
        seen = self.rect.intersection(clip or self.rect)
        source = crop_picture(picture.with_alpha() if self.has_alpha else picture, seen)
        for view, plane in zip(self._views(seen), source.planes, strict=True):
            weighted_sum(plane, share, view, 1.0, view)

    def clear(self, rect: PixelRect | None = None) -> None:
        """Clear a rectangle: transparent, or zero so that weighted pictures can be added."""
        for view in self._views(rect or self.rect):
            view[...] = 0

    def cut(self, rect: PixelRect) -> Picture:
        """Return a part of the canvas; it shares memory, so later drawing changes it."""
        return crop_picture(self.picture, rect)

    def _views(self, rect: PixelRect) -> tuple[Plane, ...]:
        return self.cut(rect).planes


def _lay_opaque(views: tuple[Plane, ...], source: Picture, opacity: float) -> None:
    if opacity == 1.0:
        for view, plane in zip(views, source.planes, strict=False):
            np.copyto(view, plane)
        for view in views[3:]:
            view[...] = 255
        return
    for view, plane in zip(views, source.planes, strict=False):
        weighted_sum(plane, opacity, view, 1 - opacity, view)
    for view in views[3:]:
        # Drawing with an alpha of 255 over any alpha.
        cv2.convertScaleAbs(view, view, alpha=1 - opacity, beta=255 * opacity)


def _lay_over(views: tuple[Plane, ...], source: Picture, opacity: float) -> None:
    assert source.alpha is not None
    assert source.chroma_alpha is not None
    luma, chroma = source.alpha, source.chroma_alpha
    covers = (luma, chroma, chroma, luma, chroma)
    for view, plane, cover in zip(views, source.planes, covers, strict=False):
        over(plane, cover, view, opacity)


def _fade_as_chromium(views: tuple[Plane, ...], source: Picture, opacity: float) -> None:
    """Draw with an opacity of 8 bits, red, green and blue of which are cut off, not rounded."""
    assert source.alpha is not None
    assert source.chroma_alpha is not None
    level = round(255 * opacity)
    faded = (level + 1) / 256 if level else 0.0
    luma, chroma = source.alpha, source.chroma_alpha
    covers = ((luma, _HALF_LEVEL), (chroma, 0.0), (chroma, 0.0), (luma, 0.0), (chroma, 0.0))
    for view, plane, (cover, lower) in zip(views, source.planes, covers, strict=False):
        over(plane, cover, view, faded, lower=lower)
