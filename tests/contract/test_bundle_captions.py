"""Captions that lie beside the page of a bundle (once refused as an address without a host)."""

from fractions import Fraction
from pathlib import Path

from framekiln.capture.browser import Browser
from framekiln.engine.assets import NoAssets
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.site import Site, SiteAssets
from tests.support.looks import colour_at, decode_frames
from tests.support.timeouts import FILM_LIMITS

PAGE = """<ef-timegroup mode="fixed" duration="2s" style="width:320px;height:180px;background:#00f">
<ef-captions captions-src="words.vtt"><ef-captions-segment
 style="position:absolute;inset:0;background:#0f0;color:#0f0"></ef-captions-segment></ef-captions>
</ef-timegroup>"""
WORDS = "WEBVTT\n\n00:01.000 --> 00:02.000\nhello there\n"


def test_a_relative_captions_src_in_a_bundle_is_read(browser: Browser, tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    site.folder.mkdir()
    (site.folder / "words.vtt").write_text(WORDS)
    assets = SiteAssets(site, NoAssets())
    order = FilmOrder(PAGE, fps=Fraction(10), site=site, assets=assets)
    make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    green = [int(colour_at(f.rgb, 160, 90)[1]) > 128 for f in decode_frames(tmp_path / "film.mp4")]
    assert green == [False] * 10 + [True] * 10
