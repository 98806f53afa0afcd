"""Which frames of a slice are compared with screenshots."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Block
from framekiln.capture.grabber import Grabber, GrabMethod, RawPixelsDiffer
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.media.images.stills import decode_bgra
from tests.support.looks import decode_frames
from tests.support.raw_pixels import require_raw_pixels
from tests.support.timeouts import FILM_LIMITS


def test_the_last_frame_of_a_slice_is_compared(browser: Browser, tmp_path: Path) -> None:
    film = FilmOrder("<body style='background:#f00'>", 320, 180, fps=Fraction(30), duration_ms=1000)
    with open_page_renderer(film, browser, FILM_LIMITS) as renderer:
        require_raw_pixels(browser, renderer.fallback_reason)
        renderer.render_slice(FilmSlice(0, 0, 4), tmp_path / "0.mp4", lambda _: None)
        # Its first frame shows nothing new.
        renderer.render_slice(FilmSlice(1, 4, 3), tmp_path / "1.mp4", lambda _: None)
        assert len(decode_frames(tmp_path / "1.mp4")) == 3
        right = renderer.grabber._framebuffer
        assert right is not None
        moved = replace(right, block=Block(right.block.pid, right.block.address + 2))
        renderer.grabber = Grabber(renderer.page, moved, decode_bgra)
        with pytest.raises(RawPixelsDiffer, match="differ at frame 9"):
            renderer.render_slice(FilmSlice(2, 7, 3), tmp_path / "2.mp4", lambda _: None)


def test_edges_between_pixels_are_no_difference(browser: Browser) -> None:
    html = """<style>@keyframes fall { to { translate: 0 90px } }
      p { font: 30px serif; background: #acf; animation: fall 12s linear }</style><p>A</p>"""
    film = FilmOrder(html, 320, 180, fps=Fraction(30), duration_ms=12_000)
    found = []
    for method in GrabMethod:
        with open_page_renderer(replace(film, grabbing=method), browser, FILM_LIMITS) as renderer:
            require_raw_pixels(browser, renderer.fallback_reason)
            found.append([renderer.render_frame(number).astype(np.int16) for number in range(4)])
            # Raises if raw memory and screenshot differ.
            renderer.grabber.grab(5, 5 * 33_333, np.empty((180, 320, 4), np.uint8), checked=True)
    for raw, screenshot in zip(*found, strict=True):
        assert np.abs(raw - screenshot).max() <= 8
