"""Compositions with golden images: the contents of a folder of tests/e2e/renders.

A folder has `composition.html`, `expect.toml` and one golden image for each time in `expect.toml`.
scripts/make_goldens.py writes goldens; tests never do.
"""

import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.engine.assets import Assets
from framekiln.engine.film import make_film, make_still
from framekiln.engine.film_order import FilmOrder, PageMethod, StillMoment
from framekiln.media.images.stills import PngFormat
from tests.support.frame_codes import Picture
from tests.support.libraries import with_libraries
from tests.support.looks import decode_still, pictures_at, ssim
from tests.support.page_method import PAGE_METHOD
from tests.support.timeouts import FILM_LIMITS

FOLDER = Path(__file__).parents[1] / "e2e" / "renders"
GOLDEN_QUALITY = 95
# The golden of a still is smaller than the image itself.
MAX_GOLDEN_PX = 480
# The similarity of whole images misses a single wrong word; tiles do not.
TILE_PX = 16


@dataclass(frozen=True)
class Level:
    """The expected loudness of a part of the film; 0 is silence."""

    from_ms: int
    to_ms: int
    rms: float


@dataclass(frozen=True)
class Expectation:
    """The expected properties of a composition's render."""

    width_px: int
    height_px: int
    #: None for a still.
    fps: Fraction | None
    duration_ms: int
    pictures_ms: tuple[int, ...]
    ssim: float
    tile_difference: float
    #: The same for a film with composed frames: their edges may lie otherwise between pixels.
    composed_tile_difference: float
    #: None if the audio has no beeps to count.
    beeps_ms: tuple[int, ...] | None
    levels: tuple[Level, ...]

    @classmethod
    def read(cls, path: Path) -> "Expectation":
        """Read `expect.toml`; a film without expected audio must be silent."""
        said: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        pictures, sound = said["pictures"], said.get("sound", {})
        duration_ms = said.get("duration_ms", 0)
        tile_difference = pictures.get("tile_difference", 12)
        silence = [{"from_ms": 0, "to_ms": duration_ms, "rms": 0}]
        return cls(
            width_px=said["width_px"],
            height_px=said["height_px"],
            fps=Fraction(said["fps"]) if "fps" in said else None,
            duration_ms=duration_ms,
            pictures_ms=tuple(pictures["at_ms"]),
            ssim=pictures.get("ssim", 0.98),
            tile_difference=tile_difference,
            composed_tile_difference=pictures.get("composed_tile_difference", tile_difference),
            beeps_ms=tuple(sound["beeps_ms"]) if "beeps_ms" in sound else None,
            levels=tuple(Level(**level) for level in sound.get("levels", () if sound else silence)),
        )


@dataclass(frozen=True)
class GoldenComposition:
    """One folder."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def expected(self) -> Expectation:
        return Expectation.read(self.folder / "expect.toml")

    @property
    def html(self) -> str:
        return with_libraries((self.folder / "composition.html").read_text("utf-8"))

    def frames_in(self, *, ms: int) -> int:
        """Return how many of its frames are shown in so many milliseconds; at least one."""
        return max(1, round(ms * (self.expected.fps or 0) / 1000))

    def golden_path(self, at_ms: int) -> Path:
        return self.folder / f"{at_ms:05}ms.jpg"

    def golden(self, at_ms: int) -> Picture:
        """Return the golden image of a time."""
        with Image.open(self.golden_path(at_ms)) as image:
            return np.asarray(image.convert("RGB"))

    def write_golden(self, at_ms: int, picture: Picture) -> None:
        """Write the golden image of a time."""
        image = Image.fromarray(picture)
        image.save(self.golden_path(at_ms), quality=GOLDEN_QUALITY, subsampling=0, optimize=True)


def compositions() -> list[GoldenComposition]:
    """Return every composition, by name."""
    return [GoldenComposition(path.parent) for path in sorted(FOLDER.glob("*/composition.html"))]


@dataclass(frozen=True)
class RenderedComposition:
    """The render of a composition: an MP4, or a PNG for a still."""

    composition: GoldenComposition
    path: Path
    warnings: tuple[str, ...]
    composed_frames: int = 0

    @property
    def is_film(self) -> bool:
        return self.composition.expected.fps is not None

    @cached_property
    def pictures(self) -> dict[int, Picture]:
        """The images at the times of the goldens, in their size."""
        times_ms = self.composition.expected.pictures_ms
        if not self.is_film:
            return {at_ms: _reduced(decode_still(self.path)[..., :3]) for at_ms in times_ms}
        fps = self.composition.expected.fps or Fraction(0)
        numbers = [int(at_ms * fps / 1000) for at_ms in times_ms]
        return dict(zip(times_ms, pictures_at(self.path, numbers), strict=True))


def render(
    composition: GoldenComposition,
    browser: Browser,
    folder: Path,
    *,
    assets: Assets,
    method: PageMethod = PAGE_METHOD,
) -> RenderedComposition:
    """Render a composition with its own settings."""
    html = composition.html
    if composition.expected.fps is None:
        (at_ms,) = composition.expected.pictures_ms
        order = FilmOrder(html, assets=assets, still=StillMoment(at_ms, is_transparent=False))
        path = folder / f"{composition.name}.png"
        still = make_still(order, browser, path, PngFormat(), limits=FILM_LIMITS)
        return RenderedComposition(composition, path, still.record.warnings)
    path = folder / f"{composition.name}.mp4"
    order = FilmOrder(html, assets=assets, page_method=method)
    film = make_film(order, browser, path, limits=FILM_LIMITS)
    return RenderedComposition(composition, path, film.record.warnings, film.record.composed_frames)


@dataclass(frozen=True)
class Similarity:
    """The similarity of two images: overall, and where they differ most."""

    ssim: float
    tile_difference: float


def compare(a: Picture, b: Picture) -> Similarity:
    """Compare two images of one size."""
    return Similarity(ssim=ssim(a, b), tile_difference=_worst_tile(a, b))


def _worst_tile(a: Picture, b: Picture) -> float:
    """Return the largest mean difference of a colour channel in any tile of the images."""
    apart = np.abs(a.astype(np.int16) - b.astype(np.int16))
    rows, columns = (np.arange(0, side, TILE_PX) for side in apart.shape[:2])
    sums = np.add.reduceat(np.add.reduceat(apart, rows, axis=0), columns, axis=1)
    heights = np.diff([*rows, apart.shape[0]])
    widths = np.diff([*columns, apart.shape[1]])
    return float((sums / np.outer(heights, widths)[..., None]).max())


def _reduced(picture: Picture) -> Picture:
    image = Image.fromarray(picture)
    image.thumbnail((MAX_GOLDEN_PX, MAX_GOLDEN_PX), Image.Resampling.BOX)
    return np.asarray(image)
