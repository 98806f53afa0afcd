"""Text and boxes of composed pages lie where Chromium draws them, also between pixels."""

from fractions import Fraction

from framekiln.capture.browser import Browser
from framekiln.engine.film_order import FilmOrder, PageMethod
from tests.support.composed_pages import likenesses


def order(html: str) -> FilmOrder:
    return FilmOrder(
        html=html,
        width_px=320,
        height_px=180,
        fps=Fraction(30),
        duration_ms=2000,
        page_method=PageMethod.COMPOSED,
    )


def test_moves_by_whole_pixels_are_exact(browser: Browser) -> None:
    html = """<style>body { margin: 0; background: #234; color: #fff; font: 21px "DejaVu Sans" }
      p { position: absolute; left: 33px; top: 41px; margin: 0; animation: jump 2s steps(1) both }
      @keyframes jump { 50% { transform: translate(13px, 7px) } }</style><p>Whole pixels</p>"""
    found = list(likenesses(order(html), browser, every=5))
    assert min(each.ssim for each in found) > 0.9999


def test_text_that_slides_is_as_sharp_as_in_chromium(browser: Browser) -> None:
    html = """<!doctype html><style>
      body { margin: 0; background: #fc1; font: bold 15px "Liberation Sans" }
      p { position: absolute; left: 10px; top: 20.5px; margin: 0; animation: slide 2s linear both }
      .low { top: auto; bottom: 12px }
      @keyframes slide { to { transform: translate(27px, 5px) } }</style>
      <p>Rain in the north, sun by noon<br>Ferries delayed<br>Cup final at 20:45</p>
      <p class="low">At the bottom of the window</p>"""
    found = list(likenesses(order(html), browser, every=4))
    assert min(each.ssim for each in found) >= 0.997


def test_what_lies_between_pixels_grows_from_whole_ones_as_in_chromium(browser: Browser) -> None:
    html = """<!doctype html><style>
      body { margin: 0; background: #fc1; font: bold 15px "Liberation Sans" }
      p { position: absolute; left: 20.4px; top: 20.4px; margin: 0; animation: grow 2s linear both }
      @keyframes grow { to { scale: 1.6 } }</style><p>Rain in the north, sun by noon"""
    found = list(likenesses(order(html), browser, every=3))
    assert min(each.ssim for each in found) >= 0.97
