"""Small films of one warm browser, as a worker makes them, whatever the pages do."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from framekiln.capture.browser import WarmBrowser
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder
from tests.support.looks import colour_at, decode_frames
from tests.support.timeouts import FILM_LIMITS

BLUE, GREEN = (1, 0, 255), (0, 255, 1)
FRAMES = 6
"""In a film of 600 ms."""
Colour = tuple[int, int, int]


class BrowserHarness:
    """A warm browser and the films it made."""

    def __init__(self, path: Path) -> None:
        self.warm = WarmBrowser()
        self._path = path

    def film(
        self, body: str, limits: FilmLimits = FILM_LIMITS, *, frames: int = FRAMES
    ) -> tuple[FilmResult, list[Colour]]:
        """Film a blue page with `body` in it; return the colour of each frame's corner too."""
        style = "<style>html { height: 100% } body { margin: 0; background: #00f }</style>"
        html = f"<!doctype html><html><head>{style}</head><body>{body}"
        duration_ms = frames * 100
        order = FilmOrder(
            html, width_px=320, height_px=180, fps=Fraction(10), duration_ms=duration_ms
        )
        with self.warm.use("owner") as browser:
            film = make_film(order, browser, self._path, limits=limits)
        return film, [colour_at(frame.rgb, 310, 170) for frame in decode_frames(self._path)]

    def film_good_page(self) -> None:
        """Show that the browser still films pages, whatever others did in it."""
        page = "<script>document.body.style.background = '#0f0'</script>"
        _, colours = self.film(page, frames=2)
        assert colours == [GREEN] * 2

    def film_within(self, limit_s: float, body: str) -> None:
        """Film such a page, with a limit for each of its steps."""
        self.film(body, replace(FILM_LIMITS, settle_s=limit_s, frame_s=limit_s))
