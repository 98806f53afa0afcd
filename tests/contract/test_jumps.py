"""Frames of declarative pages do not depend on which frames were drawn before them."""

from fractions import Fraction

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.timeouts import FILM_LIMITS

# A line that draws itself past others, over a marker that moves: each frame repaints a small part
# of pictures with soft edges. A spot grows beyond its size and back.
PAGE = """<style>body { margin: 0; background: #dcefe0 }
  .line { stroke-dasharray: 1; animation: draw 1s ease-in-out both }
  .marker { position: absolute; width: 30px; height: 30px; border-radius: 50%; background: #26e;
    offset-path: path("M30 150 C80 20 200 20 280 120"); animation: travel 1s ease-in-out both }
  .spot { position: absolute; left: 190px; top: 90px; width: 53px; height: 53px; background: #e62;
    border-radius: 50%; animation: grow 900ms cubic-bezier(.2, 2, .4, 1) both }
  @keyframes grow { from { transform: scale(0) } }
  @keyframes draw { from { stroke-dashoffset: 1 } to { stroke-dashoffset: 0 } }
  @keyframes travel { from { offset-distance: 0 } to { offset-distance: 100% } }</style>
  <svg width="320" height="180"><circle cx="90" cy="70" r="50" fill="#bfe3c4"/>
  <path d="M30 150 C80 20 200 20 280 120" fill="none" stroke="#fff" stroke-width="9"/>
  <path class="line" pathLength="1" d="M30 150 C80 20 200 20 280 120" fill="none" stroke="#26e"
   stroke-width="5"/></svg><div class="marker"></div><div class="spot"></div>"""
COMPOSITION = f"""<ef-timegroup mode="sequence" style="width: 320px; height: 180px">
  <ef-timegroup mode="fixed" duration="100ms"></ef-timegroup>
  <ef-timegroup mode="fixed" duration="1s">{PAGE}</ef-timegroup></ef-timegroup>"""

# Scripts cannot reach the animations of what <use> shows: here they begin with the second scene.
COPIES = """<ef-timegroup mode="sequence" style="width: 320px; height: 180px">
  <ef-timegroup mode="fixed" duration="110ms"></ef-timegroup>
  <ef-timegroup mode="fixed" duration="1s"><svg><use href="#a" /></svg></ef-timegroup>
  </ef-timegroup><svg style="display: none"><symbol id="a">
  <rect width="50" height="50" class="go"/></symbol></svg>
  <style>.go { animation: go 1s linear } @keyframes go { to { transform: translateX(150px) } }
  </style>"""


@pytest.mark.parametrize(
    ("html", "frame"), [(PAGE, 9), (PAGE, 20), (COMPOSITION, 22), (COPIES, 22)]
)
def test_a_frame_that_was_jumped_to_equals_one_after_all_others(
    browser: Browser, html: str, frame: int
) -> None:
    jumped, passed = drawn(html, browser, [frame]), drawn(html, browser, range(frame + 1))
    assert np.array_equal(jumped, passed)


def drawn(html: str, browser: Browser, frames: "list[int] | range") -> Pixels:
    """Return the last of these frames of the page."""
    order = FilmOrder(html, 320, 180, fps=Fraction(30), duration_ms=1000)
    with open_page_renderer(order, browser, FILM_LIMITS) as renderer:
        assert renderer.is_declarative
        for number in frames:
            pixels = renderer.render_frame(number)
        return np.array(pixels)
