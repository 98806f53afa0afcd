"""What the conformance tests share: how a scene is written, and where to look in its film.

A scene is 320x180 on black. Most of what is measured is a bar: 40 pixels wide, as high as the
picture, counted from the left.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from tests.e2e.conftest import FilmHarness, RenderedFilm
from tests.support.frame_codes import Picture
from tests.support.local_assets import LocalAssets
from tests.support.looks import colour_at

WIDTH, HEIGHT = 320, 180
BAR_PX = 40
# Rate and length are those of the composition; with a size, a page is not opened twice.
AS_WRITTEN = {"width_px": WIDTH, "height_px": HEIGHT, "fps": None, "duration_ms": None}
SIZE_FROM_PAGE = {"width_px": None, "height_px": None}
# Letters of one word lie nearer to each other than words do, at the sizes used here.
WORD_GAP_PX = 8


def film(
    harness: FilmHarness, html: str, media: LocalAssets | None = None, **order: object
) -> RenderedFilm:
    """Film a composition as it says itself, at the size of a scene."""
    assets = {} if media is None else {"assets": media}
    return harness.film(html, **AS_WRITTEN | assets | order)


def scene(content: str, attributes: str = 'duration="2s"', style: str = "") -> str:
    look = f"width:{WIDTH}px;height:{HEIGHT}px;background:#000;{style}"
    return f'<ef-timegroup id="root" style="{look}" {attributes}>{content}</ef-timegroup>'


def group(attributes: str, content: str = "") -> str:
    return f"<ef-timegroup {attributes}>{content}</ef-timegroup>"


def bar(number: int, style: str = "") -> str:
    place = f"position:absolute;left:{BAR_PX * number}px;top:0;width:{BAR_PX}px;height:100%"
    return f'<i class="bar" style="{place};background:#fff;{style}"></i>'


def level(picture: Picture, number: int) -> float:
    """How bright a bar is, from 0 to 1."""
    return max(colour_at(picture, BAR_PX * number + BAR_PX // 2, HEIGHT // 2, radius=8)) / 255


def levels(rendered: RenderedFilm, number: int) -> list[float]:
    """How bright a bar is in each frame."""
    return [level(picture, number) for picture in rendered.pictures]


def shown_s(rendered: RenderedFilm, number: int) -> list[tuple[Fraction, Fraction]]:
    """From when to when a bar is seen."""
    fps = rendered.film.plan.timeline.fps
    seen = np.array([False, *(value > 0.5 for value in levels(rendered, number)), False])
    edges = np.flatnonzero(np.diff(seen.astype(np.int8))).tolist()
    return [(first / fps, end / fps) for first, end in pairwise(edges)][::2]


def length_s(rendered: RenderedFilm) -> Fraction:
    """How long the pictures of the film last, counted in frames."""
    return len(rendered.frames) / rendered.film.plan.timeline.fps


def at(rendered: RenderedFilm, ms: int) -> Picture:
    """The picture on screen at an instant that is a frame's."""
    number = ms * rendered.film.plan.timeline.fps / 1000
    assert number.denominator == 1
    return rendered.pictures[int(number)]


def edge_px(picture: Picture, y: int = HEIGHT // 2) -> float:
    """Where the first bright pixel of a row lies, between two pixels as its brightness says."""
    row = picture[y, :, :3].max(axis=1).astype(float) / 255
    bright = np.flatnonzero(row > 0.5)
    assert bright.size, "nothing bright in this row"
    first = int(bright[0])
    return first - float(row[first - 1]) if first and row[first - 1] > 0.06 else float(first)


def word_spans(picture: Picture) -> list[slice]:
    """The columns of each word of a line of bright text, from the left."""
    inked = np.flatnonzero(picture.max(axis=(0, 2)) > 100).tolist()
    starts = [right for left, right in pairwise(inked) if right - left >= WORD_GAP_PX]
    ends = [left for left, right in pairwise(inked) if right - left >= WORD_GAP_PX]
    return [
        slice(left, right + 1)
        for left, right in zip([inked[0], *starts], [*ends, inked[-1]], strict=True)
    ]


def ink(picture: Picture, columns: slice) -> float:
    """How much light a part of the picture gives."""
    return float(picture[:, columns, :3].astype(float).sum())
