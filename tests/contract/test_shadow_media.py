"""Plain media in shadow trees: found, timed and heard as anywhere else in the page."""

import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from framekiln.engine.missing_media import AssetMissing, check_images
from tests.support.compositions import CLIP, load_composition

pytestmark = pytest.mark.spec("4.3")

VIDEO = f'<video src="{CLIP}" width="320" autoplay></video>'
PAGE = '<html data-duration-ms="2000"><style>body { margin: 0 }</style>'
GROUP = '<ef-timegroup duration="2s" style="width:320px;height:240px">{}</ef-timegroup>'


def own_element(content: str, *, mode: str = "open") -> str:
    """An element of the page's own whose shadow tree has the content."""
    return f"""<x-card></x-card><script>
      customElements.define("x-card", class extends HTMLElement {{
        constructor() {{
          super()
          this.attachShadow({{ mode: "{mode}" }}).setHTMLUnsafe(`{content}`)
        }}
      }})</script>"""


def declared(content: str) -> str:
    return f'<div><template shadowrootmode="open">{content}</template></div>'


MADE_LATER = f"""<div id="d"></div><script>
  d.setHTMLUnsafe(`<p style="margin:0">{declared(VIDEO)}</p>`)</script>"""
PAGES = {
    "open": PAGE + own_element(VIDEO),
    "closed": PAGE + own_element(VIDEO, mode="closed"),
    "declared": PAGE + declared(VIDEO),
    "by setHTMLUnsafe": PAGE + MADE_LATER,
    "nested": PAGE + own_element(f"<main>{declared(VIDEO)}</main>"),
    "in a group": GROUP.format(own_element(VIDEO)),
    "in a group, declared": GROUP.format(declared(VIDEO)),
}


@pytest.mark.parametrize("html", PAGES.values(), ids=PAGES)
def test_a_video_in_a_shadow_tree_is_exact_and_heard(browser: Browser, html: str) -> None:
    with load_composition(browser, html) as film:
        assert [film.code(n) for n in (0, 6, 12, 30)] == [0, 6, 12, 30]
        (entry,) = film.page.evaluate("__framekiln.media(2000)")
        names = ("startMs", "endMs", "sourceInMs", "gain")
        assert [entry[name] for name in names] == [0, 2000, 0, 1]


def test_a_video_stops_when_the_host_of_its_tree_leaves_the_page(browser: Browser) -> None:
    script = "<script>setTimeout(() => document.querySelector('x-card').remove(), 400)</script>"
    with load_composition(browser, PAGE + own_element(VIDEO) + script) as film:
        film.at(15, "0")
        (entry,) = film.page.evaluate("__framekiln.media(2000)")
        assert (entry["startMs"], entry["endMs"]) == (0, 400)


def test_missing_videos_in_shadow_trees_are_named(browser: Browser) -> None:
    html = PAGE + own_element('<video src="https://media.example/gone.mp4"></video>')
    words = r'video: src="https://media.example/gone.mp4": no such media'
    with pytest.raises(PageThrew, match=words), load_composition(browser, html):
        pass


@pytest.mark.parametrize("make", [own_element, declared])
def test_missing_pictures_in_shadow_trees_are_named(browser: Browser, make: object) -> None:
    assert callable(make)
    html = PAGE + make('<img src="https://media.example/none.png">')
    with load_composition(browser, html) as film:
        words = 'img 1 of 1: src="https://media.example/none.png"'
        with pytest.raises(AssetMissing, match=words):
            check_images(film.page, {})
