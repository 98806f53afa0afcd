"""Animations in groups that their author pauses, speeds up or reverses."""

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from tests.support.compositions import load_composition
from tests.support.frame_codes import Picture

pytestmark = pytest.mark.spec("4.3")

PAGE = """<ef-timegroup duration="4s" style="width:320px;height:240px;background:#fff">
  <div id="d"></div></ef-timegroup>
  <style>#d {{ position: absolute; left: 0; top: 0; width: 20px; height: 20px; background: #f00 }}
    @keyframes fly {{ to {{ transform: translateX(200px) }} }} {css}</style>
  <script>const fly = (options) => d.animate(
      [{{ transform: "none" }}, {{ transform: "translateX(200px)" }}],
      {{ duration: 2000, ...options }})
    {script}</script>"""
FILLED = 'const a = fly({ fill: "both" });'
# Where the box is at 0 s, 0.5 s, 1 s and 3 s.
PLACES = {
    "paused by CSS": ("#d { animation: fly 2s linear -1s paused both }", "", [100, 100, 100, 100]),
    "paused by a script": ("", FILLED + "a.pause(); a.currentTime = 500", [50, 50, 50, 50]),
    "twice as fast": ("", FILLED + "a.playbackRate = 2", [0, 100, 200, 200]),
    "updated speed": ("", FILLED + "a.updatePlaybackRate(0.5)", [0, 25, 50, 150]),
    "reversed": ("", FILLED + "a.reverse()", [200, 150, 100, 0]),
    "reversed with a delay": (
        "",
        'fly({ delay: 500, fill: "forwards" }).reverse()',
        [200, 150, 100, 0],
    ),
    "untouched": ("", FILLED, [0, 50, 100, 200]),
}
FRAMES = (0, 15, 30, 90)


def left_of_box(picture: Picture) -> int:
    red = (picture[10, :, 0] > 200) & (picture[10, :, 1] < 100)
    return int(np.flatnonzero(red)[0])


@pytest.mark.parametrize(("css", "script", "places"), PLACES.values(), ids=PLACES)
def test_what_an_author_sets_on_an_animation_in_a_group_applies(
    browser: Browser, css: str, script: str, places: list[int]
) -> None:
    with load_composition(browser, PAGE.format(css=css, script=script)) as film:
        assert [left_of_box(film.frame(n)) for n in FRAMES] == pytest.approx(places, abs=1)


def test_a_jump_shows_a_reversed_animation_where_it_is(browser: Browser) -> None:
    html = PAGE.format(css="", script=FILLED + "a.reverse()")
    with load_composition(browser, html) as film:
        assert left_of_box(film.frame(30)) == pytest.approx(100, abs=1)
