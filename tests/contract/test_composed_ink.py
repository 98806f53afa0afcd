"""What elements draw beyond their boxes, or others draw for them, is in composed films."""

from fractions import Fraction

import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.composed_pages import worst_spot
from tests.support.timeouts import FILM_LIMITS

MAX_SPOT = 8.0
"""Of luma; a line or dot that is missing has 25 and more."""

STYLE = """<!doctype html><style>
body { margin: 0; background: #fff; color: #222; font: 16px "DejaVu Sans" }
.in { position: absolute; left: 110px; top: 50px; margin: 0; animation: fade .3s linear both }
.box { width: 120px; height: 50px }
@keyframes fade { from { opacity: 0 } }
%s</style>%s"""


def order(html: str, rules: str = "") -> FilmOrder:
    return FilmOrder(
        html=STYLE % (rules, html),
        width_px=320,
        height_px=180,
        fps=Fraction(10),
        duration_ms=500,
        page_method=PageMethod.COMPOSED,
    )


def reason(film: FilmOrder, browser: Browser) -> str:
    """Return why a page cannot be composed."""
    with (
        open_page_renderer(film, browser, FILM_LIMITS) as filmed,
        pytest.raises(NotComposable) as error,
        open_drawing_page(film, browser, filmed.plan, FILM_LIMITS),
    ):
        pass
    return str(error.value)


LISTS = {
    "bullets": ("<ul class=in><li>one<li>two</ul>", ""),
    "bullets of a list without padding": ("<ul class=in style='padding: 0'><li>one</ul>", ""),
    "bullets of empty items": ("<ul class=in><li style='height: 30px'></ul>", ""),
    "bullets of paragraphs": ("<ul class=in><li><p>one</p></ul>", ""),
    "bullets from right to left": ("<ul class=in dir=rtl><li>one</ul>", ""),
    "items that fade": ("<ul style='margin: 50px 90px'><li style='animation: fade .3s'>a</ul>", ""),
    "numbers": ("<ol class=in start=98765><li>one<li>two</ol>", ""),
    "roman numbers": ("<ol class=in start=3888 type=i><li>one</ol>", ""),
    "large bullets": ("<ul class=in><li>one</ul>", "li::marker { font-size: 40px }"),
    "texts in the place of bullets": ("<ul class=in><li>a</ul>", "li::marker { content: 'word ' }"),
    "a text that begins further left": (
        "<div class=in style='text-indent: -60px; white-space: nowrap'>Alpha beta</div>",
        "",
    ),
    "a text that ends further left": (
        "<div class=in style='width: 20px; direction: rtl; white-space: nowrap'>Alpha beta</div>",
        "",
    ),
    "a text that is higher than its box": (
        "<div class='in box' style='display: flex; align-items: end; height: 5px'>A b c</div>",
        "",
    ),
    "a drawing that is larger than its box": (
        "<svg class=in width=40 height=40 overflow=visible><circle cx=-20 cy=20 r=30 /></svg>",
        "",
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_markers_and_texts_beyond_their_boxes_are_composed(browser: Browser, name: str) -> None:
    assert worst_spot(order(*LISTS[name]), browser, every=2) < MAX_SPOT


WORDS = "<p>Alpha beta gamma delta epsilon zeta eta theta</p>"
LINES = {
    "columns": (
        f"<div class='in box'>{WORDS}</div>",
        "div { columns: 2; column-rule: 1px solid #888 }",
    ),
    "a grid": (
        "<div class=in><i>a</i><i>b</i><i>c</i><i>d</i></div>",
        "div { display: grid; grid-template-columns: 40px 40px; gap: 10px;"
        " column-rule: 2px solid #888; row-rule: 2px solid #888 }",
    ),
    "the corner of what can be resized": (
        "<div class='in box'><b>A</b></div>",
        "div { overflow: hidden; resize: both }",
    ),
    "the background of a first line": (
        "<div class='in box'><span>Alpha beta gamma</span></div>",
        "div::first-line { background: #fc8 }",
    ),
    "an ellipsis": (
        "<div class='in box'><b>Alpha beta gamma</b></div>",
        "div { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_what_a_box_draws_around_the_texts_of_others_is_composed(
    browser: Browser, name: str
) -> None:
    assert worst_spot(order(*LINES[name]), browser, every=2) < MAX_SPOT


TABLE = "<table class=in><tr><td>A<td>B<tr><td>C<td>D</table>"
COLLAPSED = "table { border-collapse: collapse }"
TABLES = {
    "collapsed borders of cells": f"{COLLAPSED} td {{ border-bottom: 1px solid #888 }}",
    "collapsed borders of rows": f"{COLLAPSED} tr {{ border-bottom: 2px solid #888 }}",
    "borders of cells": "td { border: 1px solid #888 }",
    "backgrounds of rows": "tr { background: #fc8 }",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_fade_as_a_whole_are_composed(browser: Browser, name: str) -> None:
    assert worst_spot(order(TABLE, TABLES[name]), browser, every=2) < MAX_SPOT


TEXT = "<div class=in>Alpha beta</div>"
REACHES = {
    "an underline far below": (
        TEXT,
        "div { text-decoration: underline 3px; text-underline-offset: 3em }",
    ),
    "a thick line above": (TEXT, "div { text-decoration: overline 30px #f80 }"),
    "a thick line of an element around": (
        "<div class=in><b>Alpha beta</b></div>",
        "div { text-decoration: overline 30px #f80 }",
    ),
    "a large first letter": (TEXT, "div::first-letter { font-size: 80px; line-height: 10px }"),
    "a first letter further left": (
        TEXT,
        "div::first-letter { float: left; margin-left: -40px; font-size: 30px }",
    ),
    "a shadow of an element around": (
        "<div class=in><div><b>Alpha</b></div></div>",
        "div div { filter: drop-shadow(30px 30px 0 #f00) }",
    ),
}


@pytest.mark.parametrize("name", REACHES)
def test_lines_letters_and_shadows_beyond_their_boxes_are_composed(
    browser: Browser, name: str
) -> None:
    assert worst_spot(order(*REACHES[name]), browser, every=2) < MAX_SPOT


CELLS = "<table><col><col><tr><td>A<td id=x>B</table>"
FADING = "#x { animation: fade .3s }"
OBSTACLES = {
    "HTML in a drawing": (
        "<svg class=in><foreignObject width=9 height=9>A</foreignObject></svg>",
        "",
    ),
    "-webkit-box-reflect": ("<div class='in box'></div>", "div { -webkit-box-reflect: below }"),
    "controls of a player": ("<audio class=in controls></audio>", ""),
    "lines of a formula": ("<math class=in><msqrt><mi>x</mi></msqrt></math>", ""),
    "border-image-outset": (
        "<div class='in box'></div>",
        "div { border: 5px solid; border-image: linear-gradient(red, blue) 1 / 9px / 30px }",
    ),
    "collapsed borders around what moves": (
        CELLS,
        f"table {{ border-collapse: collapse }} {FADING}",
    ),
    "collapsed borders around what is drawn anew": (
        CELLS,
        "table { border-collapse: collapse } #x { animation: tint 1s }"
        "@keyframes tint { from { border-color: red } }",
    ),
    "a background of table rows": (CELLS, f"tr {{ background: #fc8 }} {FADING}"),
    "a background of columns": (CELLS, f"col {{ background: #fc8 }} {FADING}"),
    "list-style-image": (
        "<ul class=in><li>a</ul>",
        "ul { list-style-image: linear-gradient(red, red)",
    ),
    "list-style-type: ethiopic-numeric": (
        "<ul class=in style='list-style-type: ethiopic-numeric'><li>a</ul>",
        "",
    ),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_what_may_draw_anywhere_is_filmed(browser: Browser, obstacle: str) -> None:
    assert obstacle in reason(order(*OBSTACLES[obstacle]), browser)
