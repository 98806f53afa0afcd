"""Pages by URL of html layers are read in the encoding in which a browser reads them."""

from pathlib import Path

import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.assets import LocalAsset
from framekiln.engine.layers.page_text import page_text
from framekiln.engine.missing_media import AssetMissing
from tests.support.layer_films import config_of, mean_colour, open_layer_film
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.timeouts import FILM_LIMITS

PAGES = {
    "in a header": ("<p>größer", "iso-8859-1", "text/html; charset=iso-8859-1"),
    "in a meta element": ('<meta charset="windows-1251"><p>Больше', "cp1251", "text/html"),
    "in an equivalent of a header": (
        '<meta http-equiv="content-type" content="text/html; charset=shift_jis"><p>大きい',
        "shift_jis",
        "application/octet-stream",
    ),
    "in a byte order mark, which wins": (
        '<meta charset="windows-1252"><p>größer',
        "utf-16",
        "text/html; charset=iso-8859-1",
    ),
    "in the header, not in the page": (
        '<meta charset="windows-1251"><p>größer',
        "utf-8",
        "text/html; charset=utf-8",
    ),
    "nowhere": ("<p>größer", "utf-8", "text/html"),
}


def test_a_page_is_decoded_as_browsers_do(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page"
    for declared, (text, encoding, content_type) in PAGES.items():
        path.write_bytes(text.encode(encoding))
        asset = LocalAsset(path, content_type)
        assert page_text(asset, browser, FILM_LIMITS) == text, f"declared {declared}"


def test_an_html_layer_shows_a_page_in_its_own_encoding(browser: Browser, tmp_path: Path) -> None:
    page = """<meta charset="windows-1251"><body>Больше<script>
      document.body.style.background = document.body.innerText === "Больше" ? "lime" : "red"
    </script>"""
    assets = LocalAssets(tmp_path, {"page.html": lambda path: path.write_text(page, "cp1251")})
    layer = {"type": "html", "html": {"url": MEDIA_ORIGIN + "page.html"}}
    with open_layer_film(config_of(layer), browser, assets) as film:
        assert mean_colour(film.frame(0), 100, 100, 300, 200) == pytest.approx([0, 255, 0], abs=4)


def test_a_page_that_is_too_large_is_refused(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(AssetMissing, match=r"the page has more than 64 MiB"):
        page_text(LocalAsset(path, "text/html"), browser, FILM_LIMITS)
