"""What elements draw beyond their boxes, or others draw for them, is in composed films."""

from fractions import Fraction

import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.film_order import FilmOrder, PageMethod
from tests.support.composed_pages import cut, frames_both_ways, plan_of, side_by_side, worst_spot
from tests.support.timeouts import FILM_LIMITS

MAX_SPOT = 8.0
"""Of luma; a line or dot that is missing has 25 and more."""
CELL = FrameSize(320, 180)

STYLE = """<!doctype html><style>
body { margin: 0; background: #fff; color: #222; font: 16px "DejaVu Sans" }
.in { position: absolute; left: 110px; top: 50px; margin: 0; animation: fade .3s linear both }
.box { width: 120px; height: 50px }
@keyframes fade { from { opacity: 0 } } @keyframes tint { from { border-color: red } }
%s</style>%s"""


def order(cases: dict[str, tuple[str, str]]) -> FilmOrder:
    """Return a page that shows all cases beside each other."""
    html, size = side_by_side((content for content, _ in cases.values()), CELL)
    rules = "".join(f"#s{n} {{ {rules} }}\n" for n, (_, rules) in enumerate(cases.values()))
    return FilmOrder(
        html=STYLE % (rules, html),
        width_px=size.width_px,
        height_px=size.height_px,
        fps=Fraction(10),
        duration_ms=500,
        page_method=PageMethod.COMPOSED,
    )


def differing(cases: dict[str, tuple[str, str]], browser: Browser) -> dict[str, float]:
    """Return the worst spot of each case that differs from what Chromium draws."""
    worst = dict.fromkeys(cases, 0.0)
    for composed, filmed in frames_both_ways(order(cases), browser, every=2):
        for name, cell in zip(cases, cut(composed, filmed, CELL), strict=False):
            worst[name] = max(worst[name], worst_spot(*cell))
    return {name: spot for name, spot in worst.items() if spot >= MAX_SPOT}


def reasons(film: FilmOrder, browser: Browser) -> tuple[str, ...]:
    """Return why a page cannot be composed."""
    with (
        pytest.raises(NotComposable) as error,
        open_drawing_page(film, browser, plan_of(film, browser), FILM_LIMITS),
    ):
        pass
    return error.value.reasons


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


def test_markers_and_texts_beyond_their_boxes_are_composed(browser: Browser) -> None:
    assert differing(LISTS, browser) == {}


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


def test_what_a_box_draws_around_the_texts_of_others_is_composed(browser: Browser) -> None:
    assert differing(LINES, browser) == {}


TABLE = "<table class=in><tr><td>A<td>B<tr><td>C<td>D</table>"
COLLAPSED = "table { border-collapse: collapse }"
TABLES = {
    "collapsed borders of cells": f"{COLLAPSED} td {{ border-bottom: 1px solid #888 }}",
    "collapsed borders of rows": f"{COLLAPSED} tr {{ border-bottom: 2px solid #888 }}",
    "borders of cells": "td { border: 1px solid #888 }",
    "backgrounds of rows": "tr { background: #fc8 }",
}


def test_tables_that_fade_as_a_whole_are_composed(browser: Browser) -> None:
    cases = {name: (TABLE, rules) for name, rules in TABLES.items()}
    assert differing(cases, browser) == {}


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


def test_lines_letters_and_shadows_beyond_their_boxes_are_composed(browser: Browser) -> None:
    assert differing(REACHES, browser) == {}


CELLS = "<table><col><col><tr><td>A<td class=x>B</table>"
FADING = ".x { animation: fade .3s }"
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
        "table { border-collapse: collapse } .x { animation: tint 1s }",
    ),
    "a background of table rows": (CELLS, f"tr {{ background: #fc8 }} {FADING}"),
    "a background of columns": (CELLS, f"col {{ background: #fc8 }} {FADING}"),
    "list-style-image": (
        "<ul class=in><li>a</ul>",
        "ul { list-style-image: linear-gradient(red, red) }",
    ),
    "list-style-type: ethiopic-numeric": (
        "<ul class=in style='list-style-type: ethiopic-numeric'><li>a</ul>",
        "",
    ),
}


def test_what_may_draw_anywhere_is_filmed(browser: Browser) -> None:
    found = reasons(order(OBSTACLES), browser)
    assert [name for name in OBSTACLES if not any(name in each for each in found)] == []
    assert len(found) == len(OBSTACLES)
