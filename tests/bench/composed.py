"""Which golden pages can be composed, why others cannot, and how alike all frames are."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from framekiln.capture.browser import Browser, open_browser
from framekiln.engine.assets import Assets
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.renderer import film_obstacles
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.composed_pages import likenesses
from tests.support.golden import GoldenComposition, compositions
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS


@dataclass(frozen=True)
class ComposedRow:
    """One page; likenesses are those of all its frames, if it can be composed."""

    name: str
    frames: int
    reasons: tuple[str, ...]
    least_ssim: float = 0.0
    mean_ssim: float = 0.0
    worst_block: float = 0.0


def measure_composed() -> list[ComposedRow]:
    """Analyze every golden page, and compare each frame of those that can be composed."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        assets = LocalAssets(Path(folder), stock_makers() | module_makers())
        return [
            _measure(each.name, _order(each, assets), browser)
            for each in compositions()
            if each.expected.fps is not None
        ]


def _order(composition: GoldenComposition, assets: Assets) -> FilmOrder:
    """Return the order to compose it, however short it is: the default films short pages."""
    return FilmOrder(composition.html, assets=assets, page_method=PageMethod.COMPOSED)


def _measure(name: str, film: FilmOrder, browser: Browser) -> ComposedRow:
    frames, reasons = _reasons(film, browser)
    if reasons:
        return ComposedRow(name, frames, reasons)
    try:
        found = list(likenesses(film, browser, every=1))
    except NotComposable as reason:
        return ComposedRow(name, frames, reason.reasons)
    ssims = [each.ssim for each in found]
    differing = sum(not each.is_close for each in found)
    reasons = (f"{differing} composed frames differ",) if differing else ()
    worst = max(each.block for each in found)
    return ComposedRow(name, frames, reasons, min(ssims), mean(ssims), worst)


def _reasons(film: FilmOrder, browser: Browser) -> tuple[int, tuple[str, ...]]:
    """Return the number of frames, and all that speaks against composing them."""
    with open_page_renderer(film, browser, FILM_LIMITS) as filmed:
        frames, reasons = filmed.plan.timeline.frame_count, film_obstacles(film, filmed)
        try:
            with open_drawing_page(film, browser, filmed.plan, FILM_LIMITS):
                return frames, reasons
        except NotComposable as reason:
            return frames, (*reasons, *reason.reasons)


def print_composed(rows: list[ComposedRow]) -> None:
    """Print a row for each page, and the share of all frames."""
    table = Table(title="Golden pages, composed against filmed")
    for column in ("page", "frames", "least SSIM", "mean SSIM", "worst block"):
        table.add_column(column, justify="left" if column == "page" else "right")
    table.add_column("filmed because")
    for row in rows:
        numbers = (f"{row.least_ssim:.4f}", f"{row.mean_ssim:.4f}", f"{row.worst_block:.1f}")
        measured = numbers if row.least_ssim else ("", "", "")
        table.add_row(row.name, f"{row.frames}", *measured, "\n".join(row.reasons))
    console = Console(width=160)
    console.print(table)
    composed, frames = (
        sum(row.frames for row in rows if not row.reasons),
        sum(row.frames for row in rows),
    )
    console.print(f"{composed} of {frames} frames can be composed: {composed / frames:.0%}")
