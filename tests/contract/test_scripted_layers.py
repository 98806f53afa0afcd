"""Pages whose scripts run in each frame are composed if what they change can be repeated."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.film_plan import FilmPlan
from tests.support.composed_pages import golden_film, likenesses, plan_of
from tests.support.golden import FOLDER, GoldenComposition
from tests.support.libraries import module_makers
from tests.support.local_assets import LocalAssets
from tests.support.looks import decode_frames, ssim
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

GOLDENS = ("gsap-title", "line-chart", "nested-scenes")

# Each script depends on how often it was called before: it must run once in each frame.
PAGE = """<style>body { margin: 0; background: #123; font: 700 20px "DejaVu Sans"; color: #fff }
  div, p, ul, svg { position: absolute; left: 20px; margin: 0 }
  #box { top: 10px; width: 60px; height: 30px; background: #f80 }
  #count { top: 50px } #list { top: 90px; padding: 0; list-style: none } .hot { color: #f5a }
  #late { left: 200px; top: 10px; display: none } svg { left: 180px; top: 60px }
  #slow { left: 120px; top: 10px; animation: rise .4s .2s }
  @keyframes rise { from { transform: translateY(20px); opacity: 0 } }</style>
  <div id="box"></div><p id="count">0</p><ul id="list"></ul><p id="late">Late</p>
  <p id="slow">Ends</p>
  <svg width="100" height="80"><circle cx="40" cy="40" r="5" fill="#fd0"/></svg>
  <script>
    let calls = 0;
    const byId = (id) => document.getElementById(id);
    requestAnimationFrame(function draw() {
      calls += 1;
      byId("box").style.transform = `translate(${3 * calls}px, ${calls % 7}px) rotate(${calls}deg)`;
      byId("box").style.opacity = 1 - calls / 90;
      document.querySelector("circle").setAttribute("r", 5 + calls / 3);
      Promise.resolve().then(() => { if (calls % 4 === 0) byId("count").textContent = calls; });
      if (calls === 30) byId("late").style.display = "block";
      requestAnimationFrame(draw);
    });
    let items = 0;
    setInterval(() => {
      items += 1;
      if (items > 3) byId("list").firstChild.remove();
      byId("list").insertAdjacentHTML("beforeend", `<li>Item ${items}</li>`);
      byId("count").classList.toggle("hot");
    }, 310);
  </script>"""


def order(html: str, method: PageMethod = PageMethod.COMPOSED, ms: int = 2000) -> FilmOrder:
    return FilmOrder(html, 320, 180, fps=Fraction(30), duration_ms=ms, page_method=method)


def test_frames_of_scripts_look_as_in_chromium(browser: Browser) -> None:
    found = list(likenesses(order(PAGE), browser, every=2))
    assert min(each.ssim for each in found) >= 0.98
    assert float(np.mean([each.ssim for each in found])) >= 0.995
    assert all(each.is_close for each in found)


def test_a_film_of_scripts_shows_what_is_filmed(browser: Browser, tmp_path: Path) -> None:
    pictures = {}
    for method in (PageMethod.COMPOSED, PageMethod.FILMED):
        path = tmp_path / f"{method.value}.mp4"
        film = replace(order(PAGE, method), fps=Fraction(20))
        made = make_film(film, browser, path, limits=FILM_LIMITS)
        is_composed = method is PageMethod.COMPOSED
        assert made.record.composed_frames == (40 if is_composed else 0), made.record
        pictures[method] = [frame.rgb for frame in decode_frames(path)]
    for composed, filmed in zip(*pictures.values(), strict=True):
        assert ssim(composed, filmed) >= 0.97


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_with_scripts_look_the_same_composed_and_filmed(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    assets = LocalAssets(tmp_path, stock_makers() | module_makers())
    film, every = golden_film(GoldenComposition(FOLDER / name), assets)
    found = list(likenesses(film, browser, every=every))
    assert min(each.ssim for each in found) >= 0.99
    assert all(each.is_close for each in found)


OBSTACLES = {
    "document.styleSheets[0].insertRule('p { color: red }')": "CSSStyleSheet.insertRule",
    "document.styleSheets[0].cssRules[0].style.color = 'red'": "CSSStyleRule.style",
    "p.animate({ opacity: [0, 1] }, 100)": "Element.animate",
    "p.scrollTop = 5": "Element.scrollTop",
    "p.style.zIndex = 2": "sets its z-index",
    "p.style.left = '9px'": "with a transition",
    "p.append(new Image())": "adds it later",
    "n++ % 2 ? document.body.append(p) : p.remove()": "puts back what it took out",
    "field.value = ++n": "HTMLInputElement.value",
    "new MutationObserver(() => {}).observe(p, { attributes: true })": "waits for changes",
}


def scripted(script: str) -> FilmOrder:
    html = f"""<style>p {{ position: absolute; transition: left 1s }}</style><p>Text</p>
      <input id="field"><script>let n = 0; const p = document.querySelector("p");
      requestAnimationFrame(function draw() {{ {script}; requestAnimationFrame(draw) }})</script>"""
    return order(html, ms=200)


@pytest.fixture(scope="module")
def plan(browser: Browser) -> FilmPlan:
    return plan_of(scripted("n++"), browser)


@pytest.mark.parametrize("script", OBSTACLES)
def test_what_scripts_do_that_cannot_be_repeated_is_filmed(
    browser: Browser, plan: FilmPlan, script: str
) -> None:
    with (
        pytest.raises(NotComposable, match=OBSTACLES[script]),
        open_drawing_page(scripted(script), browser, plan, FILM_LIMITS),
    ):
        pass
