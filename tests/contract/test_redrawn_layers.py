"""Layers that show something else from time to time are drawn anew, and look as in Chromium."""

from dataclasses import replace
from fractions import Fraction

import cv2
import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.grabber import GrabMethod
from framekiln.compositor.rect import PixelRect
from framekiln.engine.composed.composer import FrameComposer
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.renderer import FRAMES_REDRAWN, raise_if_better_filmed
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.film_plan import FilmPlan
from tests.support.composed_pages import golden_film, likenesses, plan_of
from tests.support.golden import FOLDER, GoldenComposition
from tests.support.local_assets import LocalAssets
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

GOLDENS = ("audiogram", "code-walkthrough", "data-table", "story-9x16", "talking-head-captions")

PAGE = """<style>body { margin: 0; background: #123; font: 700 20px "DejaVu Sans"; color: #fff }
  p, i, svg { position: absolute; left: 20px; margin: 0 }
  #title { top: 10px; animation: tint .4s .2s both, drop .5s both }
  #bar { top: 50px; height: 9px; border-radius: 4px; background: #f80;
    animation: widen .3s .5s both }
  #glow { top: 80px; padding: 4px; animation: glow .2s .3s both }
  #glow::after { content: "!"; animation: tint .2s .6s both }
  #soft { top: 120px; color: #8f8; animation: soften .2s .1s both, fade .5s .4s both }
  svg { left: 200px; top: 60px } circle { animation: grow .3s .3s both }
  @keyframes tint { from { color: #fff } to { color: #f5a } }
  @keyframes drop { from { transform: translateY(-20px); opacity: 0 } }
  @keyframes widen { from { width: 10px } to { width: 220px } }
  @keyframes glow { to { background: #06c; box-shadow: 0 0 12px #fff8 } }
  @keyframes soften { from { filter: blur(4px) } to { filter: blur(0) } }
  @keyframes fade { to { opacity: .3 } }
  @keyframes grow { from { r: 5px } to { r: 30px } }</style>
  <p id="title">Another colour</p><i id="bar"></i><p id="glow">A shadow</p>
  <p id="soft">Out of focus</p>
  <svg width="80" height="80"><circle cx="40" cy="40" r="5" fill="#fd0"/></svg>"""
FRAMES = 60


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("stock"), stock_makers())


def order(html: str, method: PageMethod = PageMethod.COMPOSED) -> FilmOrder:
    return FilmOrder(html, 320, 180, fps=Fraction(30), duration_ms=2000, page_method=method)


def test_colours_sizes_shadows_and_drawings_that_change(browser: Browser) -> None:
    found = list(likenesses(order(PAGE), browser, every=2))
    assert min(each.ssim for each in found) >= 0.99
    assert all(each.is_close for each in found)


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_with_changing_parts_look_the_same_composed_and_filmed(
    browser: Browser, stock: LocalAssets, name: str
) -> None:
    film, every = golden_film(GoldenComposition(FOLDER / name), stock)
    found = list(likenesses(film, browser, every=every))
    assert min(each.ssim for each in found) >= 0.99
    assert float(np.mean([each.ssim for each in found])) >= 0.995
    assert all(each.is_close for each in found)


# An edge of its own background lies between pixels; without a background, the window shows through.
EDGES = PAGE.replace("</style>", "main { margin: 3.5px; height: 60.3px; background: #5a7 }</style>")
BARE = EDGES.replace("background: #123", "")


@pytest.fixture(scope="module")
def plan(browser: Browser) -> FilmPlan:
    """The plan of every page of this length that says nothing about itself."""
    return plan_of(order("<p>A"), browser)


@pytest.mark.parametrize("html", [PAGE, EDGES + "<main></main>", BARE + "<main></main>"])
def test_what_is_read_from_memory_is_what_a_screenshot_shows(
    browser: Browser, plan: FilmPlan, html: str
) -> None:
    film = order(html)
    shots = replace(film, grabbing=GrabMethod.SCREENSHOT)
    with (
        open_drawing_page(film, browser, plan, FILM_LIMITS) as read,
        open_drawing_page(shots, browser, plan, FILM_LIMITS) as shot,
    ):
        assert read._compared.is_in_memory
        redrawn = [layer.number for layer in read.layers.redrawn]
        part = PixelRect(0, 4, 320, 176)
        for numbers, scale, corner in (
            (redrawn, 1.0, (0.0, 0.0)),
            (redrawn, 1.7, (20.25, 10.0)),
            (redrawn[:1], 1.0, (0.25, 0.0)),
            ([0], 1.0, (0.0, 0.0)),
            ([0, *redrawn], 1.0, (0.0, 0.0)),
        ):
            found, expected = (
                np.ascontiguousarray(page.draw(numbers, 14, scale=scale, corner=corner, part=part))
                for page in (read, shot)
            )
            assert expected[..., 3].max() > 200
            assert cv2.absdiff(found, expected).max() <= 3, (numbers, scale)


# The second line goes down while the first one grows.
SHIFTED = """<style>p { animation: grow 1s both } @keyframes grow { from { font-size: 10px } }
  </style><p>Larger</p><b>Pushed</b>"""


def test_a_part_that_moves_others_is_filmed(browser: Browser, plan: FilmPlan) -> None:
    with (
        pytest.raises(NotComposable, match="its place in the layout changes"),
        open_drawing_page(order(SHIFTED), browser, plan, FILM_LIMITS) as page,
    ):
        page.states(0, FRAMES)


def test_a_film_that_is_mostly_redrawn_is_composed_only_if_asked(
    browser: Browser, plan: FilmPlan
) -> None:
    film = order(PAGE.replace(".3s .5s", "2s"))
    with open_drawing_page(film, browser, plan, FILM_LIMITS) as page:
        composer = FrameComposer(page)
        states = composer.read(0, FRAMES)
        with pytest.raises(NotComposable, match=FRAMES_REDRAWN):
            raise_if_better_filmed(composer, states, FRAMES)
