"""Pictures of a page's videos, decoded in the size in which the page shows them."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from framekiln.compositor.picture import Picture, picture_of_planes, rgba_of
from framekiln.compositor.placement import Matrix, scale_matrix, translation_matrix
from framekiln.engine.composed.drawing_page import DrawingPage
from framekiln.engine.composed.page_layers import Footage, PageLayer
from framekiln.engine.page.queries import GRACE_MS
from framekiln.media.frame_slots import Pixels
from framekiln.media.source_session import SessionFrames


@dataclass(frozen=True, eq=False)
class FootagePicture:
    """One picture of a video; `matrix` takes its pixels to the page where nothing has moved."""

    key: Hashable
    ms: Fraction
    """When in its source it was asked for."""
    picture: Picture
    matrix: Matrix


@dataclass(frozen=True, eq=False)
class _Opened:
    size: tuple[int, int]
    frames: SessionFrames


class FootageFrames:
    """The videos of a page. Each has its own decoder: two may show one source at two times."""

    def __init__(self, page: DrawingPage) -> None:
        self._page = page
        self._opened: dict[int, _Opened] = {}
        self._kept: dict[int, FootagePicture] = {}

    def prepare(self, layer: PageLayer, scale: float) -> None:
        """Open a video for frames in which it is enlarged by at most this factor."""
        assert layer.footage is not None
        size = _decoded_size(layer.footage, scale)
        known = self._opened.get(layer.number)
        if known is not None and known.size == size:
            return
        if known is not None:
            known.frames.close()
        self._kept.pop(layer.number, None)
        opened = _Opened(size, self._page.open_footage(layer.footage, size))
        self._opened[layer.number] = opened

    def picture(self, layer: PageLayer, source_ms: Fraction) -> FootagePicture:
        """Return the picture of a prepared video at a time of its source.

        It is valid until the next picture but one is asked for.
        """
        assert layer.footage is not None
        opened = self._opened[layer.number]
        ms = source_ms + GRACE_MS
        key = (opened.size, opened.frames.shown_ms(ms))
        kept = self._kept.get(layer.number)
        if kept is None or kept.key != key:
            planes = opened.frames.yuv_at(ms)
            picture = picture_of_planes(planes.luma, planes.blue, planes.red, planes.alpha)
            kept = FootagePicture(key, ms, picture, _matrix(layer.footage, opened.size))
        self._kept[layer.number] = replace(kept, ms=ms)
        return kept

    def find(
        self, address: str, ms: Fraction, size: tuple[int, int]
    ) -> tuple[Fraction, Pixels] | None:
        """Return the picture of a video that was just shown, and when it begins; None for others.

        So the page that is compared with need not decode it again.
        """
        for layer in self._page.layers.footage:
            assert layer.footage is not None
            kept, opened = self._kept.get(layer.number), self._opened.get(layer.number)
            if kept is None or opened is None or kept.ms != ms or kept.picture.has_alpha:
                continue
            if (layer.footage.address, opened.size) == (address, size):
                return opened.frames.shown_ms(ms), rgba_of(kept.picture)
        return None


def _decoded_size(footage: Footage, scale: float) -> tuple[int, int]:
    """Return the even size that a filmed page would ask for, but not more than the source has."""
    left, top, right, bottom = footage.picture
    wide, high = (2 * ceil(side / 2) for side in footage.natural_px)
    if footage.is_whole:
        return wide, high
    return (
        max(2, min(2 * round((right - left) * scale / 2), wide)),
        max(2, min(2 * round((bottom - top) * scale / 2), high)),
    )


def _matrix(footage: Footage, size: tuple[int, int]) -> Matrix:
    left, top, right, bottom = footage.picture
    scale = scale_matrix((right - left) / size[0], (bottom - top) / size[1])
    return translation_matrix(left, top) @ scale
