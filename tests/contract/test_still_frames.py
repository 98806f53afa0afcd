"""Frames in which nothing changes are not drawn; what is seen and written stays the same."""

import base64
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.local_assets import LocalAssets
from tests.support.looks import decode_frames
from tests.support.raw_pixels import require_raw_pixels
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

FILM = FilmOrder(width_px=320, height_px=180, fps=Fraction(30), duration_ms=3000)
SCENES = """<!doctype html><style>body { margin: 0; font: 30px "DejaVu Sans" }
  ef-timegroup { display: block } img { width: 60px; animation: turn .2s .5s forwards }
  p { margin: 0; animation: enter .3s both } b { animation: blink 1s 1.5s 1 }
  @keyframes enter { from { translate: -90px } }
  @keyframes turn { to { rotate: 9deg } }
  @keyframes blink { 0%, 40% { opacity: 0 } 60%, 100% { opacity: 1 } }
</style><ef-timegroup mode="fixed" duration="3s" style="width: 320px; height: 180px">
  <p>Enters, and <b>blinks</b></p><img src="https://media.test/dawn.jpg" alt="">
  <ef-timegroup mode="fixed" offset="1200ms" duration="1s">Comes and goes</ef-timegroup>
</ef-timegroup>"""


def test_frames_without_a_change_are_not_drawn(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = replace(FILM, html=SCENES, assets=LocalAssets(tmp_path, stock_makers()))
    films, drawn = [], []
    for film in (order, replace(order, draws_all_frames=True)):
        numbers: list[int] = []
        with open_page_renderer(film, browser, FILM_LIMITS) as renderer:
            require_raw_pixels(browser, renderer.fallback_reason)
            show = renderer.page.show
            monkeypatch.setattr(
                renderer.page,
                "show",
                lambda number, *args, n=numbers, show=show, **named: (
                    n.append(number) or show(number, *args, **named)
                ),
            )
            renderer.render_slice(FilmSlice(0, 0, 90), tmp_path / "film.mp4", lambda _: None)
        films.append((tmp_path / "film.mp4").read_bytes())
        drawn.append(set(numbers))
    few, every = drawn
    assert films[0] == films[1]
    assert every == set(range(90))
    moving = {*range(9), *range(16, 21), 36, *range(58, 63), 66}
    assert moving <= few
    assert len(few) < 55


def test_a_change_that_was_not_expected_is_drawn(browser: Browser, tmp_path: Path) -> None:
    drawing = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='320' height='180'>"
        "<rect width='40' height='180'><animate attributeName='x' from='0' to='280' begin='1s'"
        " dur='1s' fill='freeze'/></rect></svg>"
    )
    address = f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode()}"
    order = replace(FILM, html=f"<body style='margin: 0'><img src='{address}'>")
    make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    frames = decode_frames(tmp_path / "film.mp4")
    found = [int(frame.rgb[90].mean(axis=1).argmin()) for frame in frames]
    expected = [280 * min(max(number / 30 - 1, 0.0), 1.0) for number in range(90)]
    # Chromium moves it by a clock of its own; a frame is 9 pixels.
    assert all(abs(one - other) <= 12 for one, other in zip(found, expected, strict=True))


def moving_gif() -> str:
    """Return the address of an animated picture."""
    data = BytesIO()
    first, second = (Image.new("RGB", (8, 8), colour) for colour in ("red", "blue"))
    first.save(data, "GIF", save_all=True, append_images=[second], duration=100, loop=0)
    return f"data:image/gif;base64,{base64.b64encode(data.getvalue()).decode()}"


@pytest.mark.parametrize(
    ("html", "is_still"),
    [
        ("<p>Still</p>", True),
        ("<audio src='https://media.test/beep.m4a'></audio>", True),
        ("<p style='animation: 1s 2s a'>Later</p><style>@keyframes a {to {left: 0}}</style>", True),
        ("<video src='https://media.test/silent.mp4' muted></video>", False),
        (
            "<p style='animation: 1s a'>Now</p><style>@keyframes a { to { opacity: 0 } }</style>",
            False,
        ),
        (f"<p style='background: url({moving_gif()})'>Moving</p>", False),
        (f"<img src='{moving_gif()}'>", False),
        ("<svg><circle r='9'><animate attributeName='r' to='2' dur='3s'/></circle></svg>", False),
        ("<style>p { width: calc(9px * var(--ef-progress, 1)) }</style><p>Follows</p>", False),
        ("<progress></progress>", False),
        (
            "<svg style='display: none'><g id=a style='animation: 1s 1s a'></g></svg><svg>"
            "<use href=#a /></svg><style>@keyframes a { 50% { opacity: 0 } }</style>",
            False,
        ),
    ],
)
def test_only_what_is_known_to_stay_is_still(
    browser: Browser, tmp_path: Path, html: str, is_still: bool
) -> None:
    order = replace(FILM, html=html, assets=LocalAssets(tmp_path, stock_makers()))
    with open_page_renderer(order, browser, FILM_LIMITS) as renderer:
        renderer.page.show(0, 0)
        found = renderer._next_due(0, FilmSlice(0, 0, 90))
        assert (found > 1) == bool(is_still)
