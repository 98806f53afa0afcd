"""The element vocabulary's time model, measured in films: lengths, starts, fades, loops."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import cut_slices
from framekiln.engine.page.renderer import open_page_renderer
from tests.e2e.conformance import (
    HEIGHT,
    SIZE_FROM_PAGE,
    WIDTH,
    at,
    bar,
    edge_px,
    film,
    group,
    length_s,
    level,
    levels,
    scene,
    shown_s,
)
from tests.e2e.conftest import FilmHarness
from tests.support.frame_codes import Picture
from tests.support.looks import colour_at, decode_frames, measure_file, psnr
from tests.support.timeouts import FILM_LIMITS

FADES = """<style>
@keyframes in { from { opacity: 0 } to { opacity: 1 } }
@keyframes out { from { opacity: 1 } to { opacity: 0 } }
@keyframes rise { from { opacity: 0 } to { opacity: 1 } }
@keyframes move { from { transform: translateX(0) } to { transform: translateX(200px) } }
</style>"""


def test_case_01_three_scenes_of_3_s_that_overlap_by_1_s_last_7_s(harness: FilmHarness) -> None:
    scenes = [group('mode="fixed" duration="3s"', bar(n)) for n in range(3)]
    rendered = film(
        harness, scene("".join(scenes), 'mode="sequence" overlap="1s"'), **SIZE_FROM_PAGE
    )
    assert length_s(rendered) == 7
    assert rendered.film.plan.timeline.fps == 30
    assert [shown_s(rendered, n) for n in range(3)] == [[(0, 3)], [(2, 5)], [(4, 7)]]
    found = measure_file(rendered.path)
    assert found.video is not None
    assert found.audio is not None
    assert (found.video.width, found.video.height) == (320, 180)
    assert (found.video.duration_s, found.audio.duration_s) == (7, pytest.approx(7, abs=0.03))


def test_case_02_a_group_lasts_as_long_as_its_longest_child(harness: FilmHarness) -> None:
    first, second = (
        group(f'mode="fixed" duration="{seconds}s"', bar(n)) for n, seconds in enumerate((3, 5))
    )
    beside = group('mode="fixed" duration="6s"', bar(2))
    rendered = film(
        harness, scene(group('mode="sequence"', first + second) + beside, 'mode="contain" fps="10"')
    )
    assert length_s(rendered) == 8
    assert [shown_s(rendered, n) for n in range(3)] == [[(0, 3)], [(3, 8)], [(0, 6)]]


@pytest.mark.parametrize("mode", ["contain", "sequence"])
def test_case_03_a_group_that_fits_lasts_as_long_as_the_others_make_its_parent(
    harness: FilmHarness, mode: str
) -> None:
    grows = bar(1, "opacity:var(--ef-progress)")
    content = group('mode="fit"', grows) + group('mode="fixed" duration="4s"', bar(0))
    rendered = film(harness, scene(content, f'mode="{mode}" fps="10"'))
    assert length_s(rendered) == 4
    assert shown_s(rendered, 0) == [(0, 4)]
    assert levels(rendered, 1) == pytest.approx([n / 40 for n in range(40)], abs=0.02)


def test_an_offset_starts_a_child_later(harness: FilmHarness) -> None:
    late = group('duration="1s" offset="700ms"', bar(0))
    rendered = film(harness, scene(late, 'duration="2s" fps="10"'))
    assert shown_s(rendered, 0) == [(Fraction(7, 10), Fraction(17, 10))]


def test_a_group_with_its_own_rate_moves_in_steps(harness: FilmHarness) -> None:
    stepped = group('duration="1s" fps="5"', bar(0, "opacity:var(--ef-progress)"))
    rendered = film(harness, scene(stepped, 'duration="1s" fps="20"'))
    assert levels(rendered, 0) == pytest.approx([n // 4 / 5 for n in range(20)], abs=0.02)


def test_case_06_two_scenes_fade_into_each_other(harness: FilmHarness) -> None:
    fade_in = "in var(--ef-transition-duration) both"
    fade_out = "out var(--ef-transition-duration) var(--ef-transition-out-start) both"
    scenes = [
        group('duration="2s"', f'<div style="animation:{fade}">{bar(n)}</div>')
        for n, fade in enumerate((fade_out, fade_in))
    ]
    rendered = film(
        harness, FADES + scene("".join(scenes), 'mode="sequence" overlap="1s" fps="20"')
    )
    assert length_s(rendered) == 3
    going, coming = (level(at(rendered, 1500), n) for n in (0, 1))
    assert (going, coming) == pytest.approx((0.198, 0.802), abs=0.006)
    for before, after in zip(levels(rendered, 0)[20:40], levels(rendered, 1)[20:40], strict=True):
        assert before + after == pytest.approx(1, abs=0.012)
    assert levels(rendered, 0)[:20] == pytest.approx([1] * 20, abs=0.01)
    assert levels(rendered, 1)[40:] == pytest.approx([1] * 20, abs=0.01)


ANIMATED: dict[str, tuple[Callable[[str], str], dict[str, Any]]] = {
    "in a scene": (lambda inner: scene(inner, 'duration="2s" fps="20"'), {}),
    "in a later scene": (
        lambda inner: scene(
            group('duration="500ms"') + group('duration="2s"', inner), 'mode="sequence" fps="20"'
        ),
        {},
    ),
    "in a plain page": (
        lambda inner: f"<body style='background:#000'>{inner}",
        {"fps": Fraction(20), "duration_ms": 2000},
    ),
}


@pytest.mark.parametrize("where", ANIMATED)
def test_cases_16_and_17_an_endless_animation_and_an_animated_svg_image_follow_the_film(
    harness: FilmHarness, where: str
) -> None:
    """The animation, with a negative delay, in the upper half; the image in the lower."""
    wrapped, order = ANIMATED[where]
    box = bar(0, "height:90px;animation:move 1s linear -250ms infinite")
    svg = """<svg style="position:absolute;left:0;top:90px" width="320" height="90">
    <rect width="40" height="90" fill="#fff">
      <animate attributeName="x" from="0" to="200" dur="2s" fill="freeze"/>
    </rect></svg>"""
    pictures = film(harness, FADES + wrapped(box + svg), **order).pictures[-40:]
    upper, lower = ([edge_px(picture, y) for picture in pictures] for y in (45, 135))
    assert upper == pytest.approx([200 * ((n * 50 + 250) % 1000) / 1000 for n in range(40)], abs=1)
    assert lower == pytest.approx([n * 5 for n in range(40)], abs=1)


RESTLESS = f"""{FADES}
{bar(0, "animation:rise 900ms ease-in-out infinite alternate")}
<canvas width=160 height=180 style="position:absolute;left:80px;top:0"></canvas><p>0</p>
<script>
const pen = document.querySelector("canvas").getContext("2d");
root.addFrameTask(() => {{
  for (let n = 0; n < 12; n += 1) {{
    pen.fillStyle = `hsl(${{Math.random() * 360}} 90% 50%)`;
    pen.fillRect(40 * (n % 4), 60 * Math.floor(n / 4), 40, 60);
  }}
  document.querySelector("p").textContent = `${{Date.now()}} ${{performance.now()}}`;
}});
</script>"""


def test_case_28_the_same_html_twice_gives_the_same_bytes(harness: FilmHarness) -> None:
    html = scene(RESTLESS, 'duration="1500ms" fps="10"', "color:#fff")
    first, second = film(harness, html), film(harness, html)
    assert first.path.read_bytes() == second.path.read_bytes()
    assert all((a != b).any() for a, b in pairwise(first.pictures))


@pytest.mark.parametrize(
    "content", [RESTLESS, bar(0, "animation:move 2s linear both")], ids=["scripted", "declarative"]
)
def test_case_29_slices_show_what_the_whole_film_shows(
    harness: FilmHarness, tmp_path: Path, content: str
) -> None:
    html = FADES + scene(content, 'duration="2s" fps="10"', "color:#fff")
    whole = film(harness, html)
    pictures: list[Picture] = []
    for slice_ in reversed(cut_slices(whole.film.plan.timeline, 1000)):
        path = tmp_path / f"slice-{slice_.number}.mp4"
        with open_page_renderer(
            FilmOrder(html, width_px=WIDTH, height_px=HEIGHT), harness.browser, FILM_LIMITS
        ) as stage:
            stage.render_slice(slice_, path, lambda _number: None)
        pictures = [frame.rgb for frame in decode_frames(path)] + pictures
    assert len(pictures) == len(whole.pictures) == 20
    likeness = [psnr(a, b) for a, b in zip(pictures, whole.pictures, strict=True)]
    unlike = [psnr(a, b) for a, b in zip(pictures[1:], whole.pictures[:-1], strict=True)]
    assert min(likeness) > 35 > max(unlike)


def test_case_22_a_fragment_and_a_whole_document_show_the_same(harness: FilmHarness) -> None:
    content = scene(bar(1, "animation:move 1s linear both"), 'duration="1s" fps="10"')
    fragment = film(harness, FADES + content, **SIZE_FROM_PAGE)
    head = f"<head><title>Whole</title>{FADES}</head>"
    document = film(
        harness, f"<!doctype html><html>{head}<body>{content}</body></html>", **SIZE_FROM_PAGE
    )
    assert (document.film.plan.size, document.film.plan.timeline) == (
        fragment.film.plan.size,
        fragment.film.plan.timeline,
    )
    assert [edge_px(picture) for picture in fragment.pictures] == pytest.approx(
        [40 + 20 * n for n in range(10)], abs=1
    )
    assert document.path.read_bytes() == fragment.path.read_bytes()


def test_case_23_tailwind_classes_set_the_size_of_the_root(
    harness: FilmHarness,
) -> None:
    html = """<ef-timegroup mode="fixed" duration="500ms" fps="10"
    class="w-[480px] h-[270px] bg-[#00ff00] flex">
    <div class="w-1/4 h-full bg-blue-500"></div></ef-timegroup>"""
    rendered = film(harness, html, **SIZE_FROM_PAGE)
    assert rendered.pictures[0].shape == (270, 480, 3)
    assert colour_at(rendered.pictures[0], 60, 135) == pytest.approx((43, 127, 255), abs=4)
    assert colour_at(rendered.pictures[0], 300, 135) == pytest.approx((0, 255, 0), abs=4)


@pytest.mark.parametrize("padding", ["0", "10px"])
def test_case_24_odd_sides_become_even_with_a_warning(harness: FilmHarness, padding: str) -> None:
    html = f"""<body style="background:#fff"><ef-timegroup duration="500ms" fps="10"
    style="width:321px;height:181px;background:#f00;box-sizing:border-box;padding:{padding}">
    </ef-timegroup>"""
    rendered = film(harness, html, **SIZE_FROM_PAGE)
    (picture, *_) = rendered.pictures
    assert picture.shape == (182, 322, 3)
    assert rendered.film.record.warnings == (
        "size 321x181 of the composition was rounded up to 322x182: films need even sides",
    )
    # No line of the page is left at the edges.
    assert colour_at(picture, 321, 181, radius=0) == pytest.approx((255, 0, 0), abs=4)


def test_a_stepped_animation_that_fills_forwards_makes_its_last_step(harness: FilmHarness) -> None:
    style = "<style>@keyframes appear { from { opacity: 0 } to { opacity: 1 } }</style>"
    bars = "".join(
        bar(n, f"animation:appear 300ms {easing} both")
        for n, easing in enumerate(("steps(1)", "steps(3)", "linear"))
    )
    rendered = film(harness, style + scene(bars, 'duration="1s" fps="10"'))
    assert levels(rendered, 0) == pytest.approx([0] * 3 + [1] * 7, abs=0.05)
    assert levels(rendered, 1) == pytest.approx([0, 1 / 3, 2 / 3] + [1] * 7, abs=0.05)
    assert levels(rendered, 2) == pytest.approx([0, 1 / 3, 2 / 3] + [1] * 7, abs=0.05)
