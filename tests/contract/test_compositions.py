"""Timed elements in a real page: times, looks, animations, frame tasks.

The numbers in names are those of the conformance set that the composition vocabulary is held to.
"""

from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from framekiln.engine.film_plan import even_size
from tests.support.compositions import CLIP, load_composition
from tests.support.dropped_frames import dropping_frames

SIZE = "width:320px;height:240px"


def scene(seconds: float, content: str = "", **attributes: str) -> str:
    more = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f'<ef-timegroup mode="fixed" duration="{seconds}s" {more}>{content}</ef-timegroup>'


def group(content: str, **attributes: str) -> str:
    more = " ".join(f'{name}="{value}"' for name, value in attributes.items())
    return f'<ef-timegroup id="root" style="{SIZE};background:#fff" {more}>{content}</ef-timegroup>'


STARTS = "[...document.querySelectorAll('#root > *')].map(e => e.startTimeMs)"
SHOWN = "[...document.querySelectorAll('#root > *')].map(e => e.checkVisibility())"


def test_1_a_sequence_overlaps(browser: Browser) -> None:
    html = group(scene(3) * 3, mode="sequence", overlap="1s")
    with load_composition(browser, html) as film:
        assert film.facts.duration_ms == 7000
        assert film.page.evaluate(STARTS) == [0, 2000, 4000]
        assert film.at(0, SHOWN) == [True, False, False]
        assert film.at(60, SHOWN) == [True, True, False]
        assert film.at(90, SHOWN) == [False, True, False]
        assert film.at(209, SHOWN) == [False, False, True]


def test_2_and_3_contain_and_fit(browser: Browser) -> None:
    inner = f'<ef-timegroup mode="sequence">{scene(3)}{scene(5)}</ef-timegroup>'
    html = group(inner + scene(6) + '<ef-timegroup mode="fit" id="fit"></ef-timegroup>')
    with load_composition(browser, html) as film:
        assert film.facts.duration_ms == 8000
        assert film.page.evaluate("fit.durationMs") == 8000


def test_4_and_5_windows_of_a_source(browser: Browser) -> None:
    clips = (
        f'<ef-video id="a" src="{CLIP}" sourcein="2s" sourceout="6s"></ef-video>'
        f'<ef-video id="b" src="{CLIP}" trimStart="2s" trim-end="3s"></ef-video>'
    )
    with load_composition(browser, group(clips, mode="sequence")) as film:
        assert film.page.evaluate("[a.durationMs, b.durationMs]") == [4000, 5000]
        first, second = film.facts.plan["media"]
        assert (first["startMs"], first["endMs"], first["sourceInMs"]) == (0, 4000, 2000)
        assert (second["startMs"], second["endMs"], second["sourceInMs"]) == (4000, 9000, 2000)
        assert film.code(30) == 90
        assert film.code(150) == 90


CROSSFADE = """<style>
@keyframes appear { from { opacity: 0 } }
@keyframes vanish { to { opacity: 0 } }
#root > * { animation: appear var(--ef-transition-duration) both,
  vanish var(--ef-transition-duration) var(--ef-transition-out-start) forwards }</style>"""


def test_6_a_crossfade_adds_up(browser: Browser) -> None:
    html = CROSSFADE + group(scene(3, id="a") + scene(3, id="b"), mode="sequence", overlap="1s")
    with load_composition(browser, html) as film:
        opacities = "[a, b].map(e => Number(getComputedStyle(e).opacity))"
        assert film.at(75, opacities) == pytest.approx([0.198, 0.802], abs=0.001)


def test_variables_are_set_on_nested_groups_too(browser: Browser) -> None:
    html = group(scene(3) + scene(2, id="b"), mode="sequence", overlap="500ms")
    with load_composition(browser, html) as film:
        names = ["progress", "duration", "transition-duration", "transition-out-start"]
        read = f"{names}.map(n => getComputedStyle(b).getPropertyValue('--ef-' + n))"
        assert film.at(105, read) == ["0.5", "2000ms", "500ms", "1500ms"]


BOX_TASK = """<ef-timegroup id="root" duration="2s" style="width:320px;height:240px">
<canvas width=320 height=240></canvas></ef-timegroup><script>
const pen = document.querySelector("canvas").getContext("2d");
const shade = (share) => {
  pen.fillStyle = `rgb(${Math.round(share * 200)},0,0)`;
  pen.fillRect(0, 0, 320, 240);
};
%s</script>"""
TASKS = {
    "object": """root.addFrameTask(({ ownCurrentTimeMs, durationMs }) => {
      shade(ownCurrentTimeMs / durationMs) })""",
    "positional": "root.addFrameTask((ms, durationMs) => shade(ms / durationMs))",
    "initializer": """root.initializer = (it) => {
      it.addFrameTask((info) => shade(info.percentComplete)) }""",
    "onFrame": "root.onFrame = ({ percentComplete }) => shade(percentComplete)",
}


@pytest.mark.parametrize("script", TASKS.values(), ids=TASKS)
def test_14_a_frame_task_draws_in_either_style(browser: Browser, script: str) -> None:
    with load_composition(browser, BOX_TASK % script) as film:
        assert film.facts.plan["isDeclarative"] is False
        assert film.frame(0)[120, 160].tolist() == [0, 0, 0]
        assert film.frame(30)[120, 160].tolist() == [100, 0, 0]


def test_15_an_async_task_is_waited_for(browser: Browser) -> None:
    script = """let calls = 0; root.addFrameTask(async ({ ownCurrentTimeMs }) => {
        calls += 1;
        await (await fetch("data:text/plain,late")).text();
        shade(ownCurrentTimeMs / 2000);
      });
      let frames = 0;
      requestAnimationFrame(function f() { frames += 1; requestAnimationFrame(f) })"""
    with load_composition(browser, BOX_TASK % script) as film:
        for number, red in ((0, 0), (15, 50), (30, 100)):
            film.frame(number)
            assert film.finished()[120, 160].tolist() == [red, 0, 0]
        assert film.page.evaluate("[calls, frames]") == [3, 3]


def test_tasks_of_hidden_groups_are_not_called(browser: Browser) -> None:
    html = group(scene(1, id="a") + scene(1, id="b"), mode="sequence")
    script = """<script>const seen = []; for (const each of [a, b])
      each.addFrameTask((ms) => seen.push(`${each.id} ${Math.round(ms)}`))</script>"""
    with load_composition(browser, html + script) as film:
        assert film.at(0, "seen") == ["a 0"]
        assert film.at(45, "seen") == ["a 0", "b 500"]


def test_the_composition_is_moved_before_the_callbacks_of_the_author(browser: Browser) -> None:
    script = """<script>const seen = []; requestAnimationFrame(function f() {
      seen.push(root.ownCurrentTimeMs); requestAnimationFrame(f) });
      root.addFrameTask(() => seen.push("task"))</script>"""
    with load_composition(browser, group("", duration="2s") + script) as film:
        film.frame(0)
        assert film.at(3, "seen") == ["task", 0, "task", 100]


MOVING = "<style>@keyframes go { from { margin-left: 0 } to { margin-left: 100px } } %s</style>"


def test_16_endless_animations_and_negative_delays(browser: Browser) -> None:
    style = MOVING % "p { animation: go 2s linear infinite -500ms }"
    html = style + group(scene(1) + scene(2, "<p>x</p>"), mode="sequence")
    with load_composition(browser, html) as film:
        left = "parseFloat(getComputedStyle(document.querySelector('p')).marginLeft)"
        assert film.at(30, left) == pytest.approx(25)
        assert film.at(75, left) == pytest.approx(0, abs=0.01)
        # 2.23 s into turns of 2 s.
        assert film.at(82, left) == pytest.approx(11.6667, abs=0.001)


def test_animations_follow_the_nearest_timed_element_and_start_again(browser: Browser) -> None:
    style = MOVING % "p { animation: go 1s linear }"
    html = style + group(scene(1) + scene(2, "<p>x</p>", id="b"), mode="sequence")
    with load_composition(browser, html) as film:
        left = "parseFloat(getComputedStyle(document.querySelector('p')).marginLeft)"
        assert film.at(45, left) == pytest.approx(50)
        # Past its end it stays where it ended.
        assert film.at(75, left) == pytest.approx(100, abs=0.02)
        script = "document.querySelector('p').animate({ opacity: [0, 1] }, 1000).id = 'late'"
        film.page.evaluate(script)
        opacity = "Number(getComputedStyle(document.querySelector('p')).opacity)"
        assert film.at(76, opacity) == pytest.approx(1, abs=0.001)


def test_animations_by_scroll_show_the_place_that_is_scrolled_to(browser: Browser) -> None:
    style = (
        "<style>p { height: 240px; margin: 0; background: #000; animation: fade linear both;"
        " animation-timeline: scroll() } div { height: 90px; overflow: auto }"
        "@keyframes fade { from { opacity: .5 } to { opacity: 1 } }</style>"
    )
    with load_composition(browser, group(style + scene(1, "<div><p></p></div>"))) as film:
        for number in (0, 15, 29):
            assert film.frame(number)[45, 100, :3].tolist() == pytest.approx([127.5] * 3, abs=1)


def test_17_smil_animations_follow_their_scene(browser: Browser) -> None:
    svg = (
        "<svg width=200 height=20><rect width=10 height=10>"
        "<animate attributeName=x from=0 to=100 dur=2s fill=freeze /></rect></svg>"
    )
    html = group(scene(1) + scene(3, svg), mode="sequence")
    with load_composition(browser, html) as film:
        x = "document.querySelector('rect').x.animVal.value"
        assert film.at(60, x) == pytest.approx(50)
        assert film.at(119, x) == pytest.approx(100)


BAR = "<i style='position:absolute;width:10px;height:10px;background:#000;animation:go 2s linear'>"
MOVING_BAR = f"{MOVING % 'i {}'}{BAR}</i>"
MOVING_RECT = (
    "<svg width=200 height=20><rect width=10 height=10>"
    "<animate attributeName=x from=0 to=100 dur=2s fill=freeze /></rect></svg>"
)
SHADOW_TREES = {
    "declared": '<p><template shadowrootmode="open">{}</template></p>',
    "open": '<p></p><script>attach("open", `{}`)</script>',
    "closed": '<p></p><script>attach("closed", `{}`)</script>',
}


@pytest.mark.parametrize("tree", SHADOW_TREES.values(), ids=SHADOW_TREES)
@pytest.mark.parametrize("content", [MOVING_BAR, MOVING_RECT], ids=["css", "smil"])
def test_animations_in_shadow_trees_follow_their_scene(
    browser: Browser, tree: str, content: str
) -> None:
    script = """<script>const attach = (mode, html) => {
      const host = document.querySelector("p")
      host.attachShadow({ mode }).innerHTML = html
    }</script><style>p { margin: 0 }</style>"""
    html = script + group(scene(1) + scene(3, tree.format(content)), mode="sequence")
    with load_composition(browser, html) as film:
        for number, left_px in ((60, 50), (119, 100)):
            dark = np.flatnonzero(film.frame(number)[5].max(axis=1) < 100)
            assert (dark[0], dark[-1]) == (left_px, left_px + 9)


def test_22_a_fragment_is_drawn_like_a_whole_document(browser: Browser) -> None:
    fragment = group("<h1>Whole</h1>", duration="1s")
    document = f"<!doctype html><html><head></head><body>{fragment}</body></html>"
    with load_composition(browser, fragment) as one, load_composition(browser, document) as other:
        assert other.facts.width_px == 320
        assert np.array_equal(one.frame(0), other.frame(0))


def test_24_odd_sizes_are_made_even(browser: Browser) -> None:
    html = '<ef-timegroup duration="1s" fps="25" style="width:321px;height:201px"></ef-timegroup>'
    with load_composition(browser, html) as film:
        assert (film.facts.width_px, film.facts.height_px, film.facts.fps) == (321, 201, 25)
        size, warnings = even_size(321, 201)
        assert (size.width_px, size.height_px, len(warnings)) == (322, 202, 1)


def test_27_render_data_of_the_page_is_unchanged(browser: Browser) -> None:
    script = "<script>window.EF_RENDER_DATA = { title: 'mine' }</script>"
    with load_composition(browser, script + group("", duration="1s")) as film:
        assert film.at(0, "window.EF_RENDER_DATA") == {"title": "mine"}


def test_28_the_same_composition_twice_is_the_same_film(browser: Browser) -> None:
    html = CROSSFADE + group(
        scene(1, "<h1>One</h1>") + scene(1, "<h1>Two</h1>"), mode="sequence", overlap="400ms"
    )

    def film() -> list[Any]:
        with load_composition(browser, html) as shown:
            return [shown.frame(number) for number in range(0, 48, 6)]

    assert all(np.array_equal(a, b) for a, b in zip(film(), film(), strict=True))


def test_a_nested_rate_steps_the_clock_of_its_group(browser: Browser) -> None:
    html = group(scene(2, id="stepped", fps="10") + scene(2, id="smooth"))
    with load_composition(browser, html) as film:
        times = "[stepped, smooth].map(e => Math.round(e.ownCurrentTimeMs))"
        assert [film.at(n, times) for n in range(5)] == [
            [0, 0],
            [0, 33],
            [0, 67],
            [100, 100],
            [100, 133],
        ]


def test_a_still_composition_is_drawn_once(browser: Browser) -> None:
    with load_composition(browser, group("<h1>Still</h1>", duration="2s")) as film:
        damage = [film.page.show(n, n * 33_333).has_damage for n in range(4)]
        assert damage == [True, False, False, False]
        assert film.facts.plan["isDeclarative"] is True


def test_a_child_of_a_sequence_without_duration_causes_a_warning(browser: Browser) -> None:
    html = group('<ef-timegroup id="empty"></ef-timegroup>' + scene(1), mode="sequence")
    with load_composition(browser, html) as film:
        assert film.facts.duration_ms == 1000
        (warning,) = film.facts.plan["warnings"]
        assert warning["code"] == "no_duration"
        assert warning["text"].startswith("ef-timegroup#empty has no length of its own")


def test_player_elements_have_no_box_and_controls_are_hidden(browser: Browser) -> None:
    html = (
        '<ef-configuration><ef-preview style="padding:50px">'
        + group(
            '<ef-pan-zoom x="10" y="20" scale="2"><i id="moved">x</i></ef-pan-zoom>', duration="1s"
        )
        + "<ef-controls>c<ef-toggle-play>play</ef-toggle-play></ef-controls></ef-preview>"
        "</ef-configuration>"
    )
    with load_composition(browser, html) as film:
        assert film.at(0, "document.querySelector('ef-controls').checkVisibility()") is False
        assert film.at(0, "[root, moved].map(e => e.getBoundingClientRect().x)") == [0, 10]
        assert film.facts.width_px == 320


def test_elements_defined_by_the_page_are_replaced_by_ours(browser: Browser) -> None:
    script = "<script>customElements.define('ef-timegroup', class extends HTMLElement {})</script>"
    with load_composition(browser, script + group("", duration="1s")) as film:
        assert film.at(15, "root.ownCurrentTimeMs") == 500


BROKEN = {
    "r.initializer = () => { throw new Error('in initializer') }": "in initializer",
    "r.addFrameTask(() => { throw new Error('in task') })": "in task",
    "r.addFrameTask(async () => { throw new Error('in async task') })": "in async task",
}


@pytest.mark.parametrize(("script", "words"), BROKEN.items(), ids=BROKEN.values())
def test_an_error_thrown_by_the_page_fails_the_film(
    browser: Browser, script: str, words: str
) -> None:
    html = f'<ef-timegroup id="r" duration="1s"></ef-timegroup><script>{script}</script>'
    # Chromium may tell of it only with the next frame.
    with pytest.raises(PageThrew, match=words), load_composition(browser, html) as film:
        assert [film.frame(number) for number in range(3)] == []


def test_dropped_first_frames_are_drawn_again(browser: Browser) -> None:
    # Seen twice in a row: the film began with every scene shown at once.
    with load_composition(browser, group(scene(3) * 2, mode="sequence")) as film:
        with dropping_frames(2):
            assert film.at(0, SHOWN) == [True, False]
        assert film.at(90, SHOWN) == [False, True]
