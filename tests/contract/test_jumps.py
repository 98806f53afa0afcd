"""Frames do not depend on which frames were drawn before them: nobody jumps where they would."""

from fractions import Fraction

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.framebuffer import Pixels
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.renderer import open_page_renderer
from tests.support.composition_screen import Load
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


BOX = """<style>body { margin: 0 } #box { width: 40px; height: 40px; background: #d22 }
  #box.moved { transform: translateX(200px); transition: transform .4s linear }
  @keyframes rise { to { translate: 0 60px } }
  @keyframes widen { from { width: 80px } to { width: 300px } }
  @property --n { syntax: "<number>"; inherits: true; initial-value: 0 }
  @keyframes count { to { --n: 100 } }</style>"""
MOVE = "box.classList.add('moved')"
LISTENING = f"""{BOX}<div id="box" style="animation: rise .3s linear both"></div>
  <script>box.addEventListener("animationend", () => {MOVE})</script>"""
QUERY = f"""{BOX}<style>@container (min-width: 150px) {{ #box {{ background: #22d }} }}</style>
  <main style="container-type: inline-size; height: 90px; animation: widen 1s linear both">
  <div id="box" style="transition: background .4s linear"></div></main>"""
VIEW = f"""{BOX}<div id="box" style="view-transition-name: box"></div>
  <script>setTimeout(() => document.startViewTransition(() => {MOVE}), 100)</script>"""
WORKER = f"""{BOX}<div id="box"></div><script>
  const text = "onmessage = ({{ data }}) => postMessage(data)";
  const worker = new Worker(URL.createObjectURL(new Blob([text])));
  worker.onmessage = ({{ data }}) => {{ box.style.width = `${{data}}px` }};
  requestAnimationFrame(function f() {{
    worker.postMessage(box.offsetWidth + 5);
    requestAnimationFrame(f);
  }})</script>"""


@pytest.mark.parametrize("html", [LISTENING, QUERY, VIEW, WORKER])
def test_a_frame_that_depends_on_those_before_is_not_jumped_to(browser: Browser, html: str) -> None:
    jumped, passed = (
        drawn(html, browser, frames, is_declarative=False) for frames in ([15], range(16))
    )
    assert np.array_equal(jumped, passed)


def image(inside: str) -> str:
    return f"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E{inside}%3C/svg%3E"


SPINNER = image("%3Ccircle r='9'%3E%3Canimate attributeName='r' to='2' dur='1s'/%3E%3C/circle%3E")
COMPOSED = '<ef-timegroup duration="1s" style="width: 320px; height: 180px">%s</ef-timegroup>'
FOLLOWS = "height: 9px; width: calc(var(--ef-progress) * 100px);"
DEPENDENT = {
    "handler": "<p onanimationend='title = 1'>x</p>",
    "finish": "<p id=box></p><script>box.animate([], 9).onfinish = () => 0</script>",
    "finished": "<p id=box></p><script>box.animate([], 9).finished.then(0)</script>",
    "seen": "<p id=box></p><script>new IntersectionObserver(() => 0).observe(box)</script>",
    "SMIL": "<svg><set id=a attributeName=x to=1 /></svg><script>a.onend = () => 0</script>",
    "idle": "<p>x<script>requestIdleCallback(() => 0)</script>",
    "smooth": "<p>x<script>scrollTo({ top: 9, behavior: 'smooth' })</script>",
    "inherited": f"{BOX}<main style='animation: count 1s both'><i style='transition: all 1s'>x</i>",
    "progress": COMPOSED % f"<div style='{FOLLOWS} transition: width 1s'></div>",
    "appears": COMPOSED
    % "<p>x</p><style>p { transition: opacity 1s } @starting-style { p { opacity: 0 } }</style>",
    "marquee": "<marquee>x</marquee>",
    "caret": "<input autofocus>",
    "drawing": f'<img src="{SPINNER}">',
    "background": f'<p style="background: url(&quot;{SPINNER}&quot;)">x</p>',
}
INDEPENDENT = {
    "hover": f"{BOX}<p id=box style='animation: rise 1s; transition: all 1s'>x</p>",
    "container": "<style>@container (width > 1px) { p { color: red } }</style><p>x</p>",
    "drawing": f'<img src="{image("%3Ccircle r=%229%22/%3E")}">',
    "progress": COMPOSED % f"<div style='{FOLLOWS}'></div>",
}


@pytest.mark.parametrize(
    ("html", "is_dependent"),
    [*((html, True) for html in DEPENDENT.values()), *((h, False) for h in INDEPENDENT.values())],
    ids=[*DEPENDENT, *(f"no {name}" for name in INDEPENDENT)],
)
def test_it_is_known_which_frames_depend_on_those_before(
    load: Load, html: str, is_dependent: bool
) -> None:
    plan = load(html).page.evaluate("__framekiln.plan()")
    assert plan["isDeclarative"] is not is_dependent


def drawn(
    html: str, browser: Browser, frames: "list[int] | range", *, is_declarative: bool = True
) -> Pixels:
    """Return the last of these frames of the page."""
    order = FilmOrder(html, 320, 180, fps=Fraction(30), duration_ms=1000)
    with open_page_renderer(order, browser, FILM_LIMITS) as renderer:
        assert renderer.is_declarative is is_declarative
        for number in frames:
            pixels = renderer.render_frame(number)
        return np.array(pixels)
