"""`python -m tests.fuzz.composed_pages`: films random pages both ways, and compares every frame.

A find is a page with a frame that looks wrong although the frames that a render would check look
right. Its seed is printed, and `--show` writes the page. The exit code is then 1.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.grabber import RawPixelsDiffer
from framekiln.compositor.picture import Picture
from framekiln.engine.composed.composer import FrameComposer, page_scene
from framekiln.engine.composed.drawing_page import DrawingPage, open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.proof import Likeness, checked_frames, compare
from framekiln.engine.composed.renderer import raise_if_better_filmed
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import PageRenderer, open_page_renderer
from framekiln.kit.errors import FramekilnError
from framekiln.pixels.conversion import Planes, bgra_to_yuv420
from tests.support.local_assets import LocalAssets
from tests.support.random_pages import DURATION_MS, FPS, HEIGHT_PX, WIDTH_PX, random_page
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

_TILE_PX = 16


@dataclass
class PageResult:
    """All frames of one page, or why it is filmed."""

    reason: str = ""
    better_filmed: str = ""
    """Why it would be filmed if nobody asked for a method; nothing if it would be composed."""
    frames: list[Likeness] = field(default_factory=list)
    checked: frozenset[int] = frozenset()
    tile: float = 0.0
    """The largest mean difference of luma in any tile: softer text shows here first."""

    @property
    def wrong(self) -> list[int]:
        """The frames that do not look as Chromium draws them."""
        return [number for number, each in enumerate(self.frames) if not each.is_close]

    @property
    def verdict(self) -> str:
        """What a render would have done."""
        if self.reason:
            return f"filmed: {self.reason}"
        if not self.wrong:
            return "composed"
        return "refused by the proof" if self.checked & set(self.wrong) else "FIND"


def film_both_ways(html: str, browser: Browser, assets: LocalAssets) -> PageResult:
    """Compose all frames of a page, and compare them with Chromium's."""
    film = FilmOrder(
        html, WIDTH_PX, HEIGHT_PX, fps=Fraction(FPS), duration_ms=DURATION_MS, assets=assets
    )
    try:
        with (
            open_page_renderer(film, browser, FILM_LIMITS) as filmed,
            open_drawing_page(film, browser, filmed.plan, FILM_LIMITS) as page,
        ):
            return _compared(filmed, page)
    except NotComposable as reason:
        return PageResult(str(reason))
    except RawPixelsDiffer:
        # A render then takes screenshots; that has its own tests.
        return PageResult("raw pixels differ")
    except FramekilnError as error:
        return PageResult(f"not made at all: {error.message}")


def _compared(filmed: PageRenderer, page: DrawingPage) -> PageResult:
    slice_ = FilmSlice(0, 0, filmed.plan.timeline.frame_count)
    composer, scene = FrameComposer(page), page_scene(filmed.plan.size)
    states = composer.read(0, slice_.frame_count)
    composer.draw()
    result = PageResult(
        checked=checked_frames(slice_, states.changes(), frame_count=slice_.frame_count)
    )
    try:
        raise_if_better_filmed(composer, states, slice_.frame_count)
    except NotComposable as reason:
        result.better_filmed = str(reason)
    pixels = np.empty((page.size.height_px, page.size.width_px, 4), np.uint8)
    for number in range(slice_.frame_count):
        scene.show(composer.items(number))
        filmed.capture(number, pixels)
        result.frames.append(compare(scene.picture, pixels))
        result.tile = max(result.tile, worst_tile(scene.picture, pixels))
    return result


def worst_tile(composed: Picture, filmed: np.ndarray) -> float:
    """Return the largest mean difference of luma in any tile of two frames."""
    height, width = filmed.shape[:2]
    theirs = Planes.empty(width, height)
    bgra_to_yuv420(filmed, theirs)
    apart = np.abs(composed.y.astype(np.int16) - theirs.luma)
    rows, columns = (np.arange(0, side, _TILE_PX) for side in apart.shape)
    sums = np.add.reduceat(np.add.reduceat(apart, rows, axis=0), columns, axis=1)
    sizes = np.outer(np.diff([*rows, height]), np.diff([*columns, width]))
    return float((sums / sizes).max())


def results(seeds: range, *, has_footage: bool) -> Iterator[tuple[int, PageResult]]:
    """Film the page of each seed; a browser serves fifty of them."""
    with tempfile.TemporaryDirectory() as folder:
        assets = LocalAssets(Path(folder), stock_makers())
        for first in range(seeds.start, seeds.stop, 50):
            with open_browser() as browser:
                for seed in range(first, min(first + 50, seeds.stop)):
                    html = random_page(seed, has_footage=has_footage)
                    yield seed, film_both_ways(html, browser, assets)


def main() -> int:
    """Film the pages that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.composed_pages")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--footage", action="store_true", help="with a video behind everything")
    parser.add_argument("--show", action="store_true", help="write the page of the first seed")
    asked = parser.parse_args()
    if asked.show:
        sys.stdout.write(random_page(asked.first, has_footage=asked.footage))
        return 0
    counts: Counter[str] = Counter()
    seeds = range(asked.first, asked.first + asked.pages)
    for seed, found in results(seeds, has_footage=asked.footage):
        kind = found.better_filmed or "auto"
        counts[f"{found.verdict.partition(':')[0]} ({kind})"] += 1
        counts["frames compared"] += len(found.frames)
        counts[f"frames of pages {found.verdict.partition(':')[0]}"] += len(found.frames)
        sys.stdout.write(f"{seed}: {found.verdict} ({kind}) {_numbers(found)}\n")
        sys.stdout.flush()
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"{count:7d} {name}\n")
    return 1 if any(name.startswith("FIND") for name in counts) else 0


def _numbers(found: PageResult) -> str:
    if not found.frames:
        return ""
    least = min(each.ssim for each in found.frames)
    block = max(each.block for each in found.frames)
    return f"SSIM {least:.4f}, block {block:.1f}, tile {found.tile:.1f}, wrong {found.wrong}"


if __name__ == "__main__":
    sys.exit(main())
