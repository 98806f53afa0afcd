"""Pages that are composed from layers look as Chromium draws them, or are filmed."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.capture.browser import Browser
from framekiln.capture.page import FrameSize
from framekiln.engine.assets import LocalAsset
from framekiln.engine.composed.composer import FrameComposer
from framekiln.engine.composed.drawing_page import open_drawing_page
from framekiln.engine.composed.errors import NotComposable
from framekiln.engine.composed.proof import Likeness
from framekiln.engine.composed.renderer import (
    EDGES_RESAMPLED,
    FRAMES_REPEAT,
    film_obstacles,
    raise_if_better_filmed,
)
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmOrder, PageMethod
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.kit.errors import InvalidInput
from framekiln.pixels.conversion import Planes, bgra_to_yuv420
from tests.fuzz.composed_pages import film_both_ways
from tests.support.composed_pages import (
    cut,
    frames_both_ways,
    golden_film,
    likenesses,
    plan_of,
    side_by_side,
)
from tests.support.golden import FOLDER, GoldenComposition
from tests.support.local_assets import LocalAssets
from tests.support.looks import decode_frames
from tests.support.random_pages import random_page
from tests.support.stock_media import stock_makers
from tests.support.timeouts import FILM_LIMITS

CELL = FrameSize(320, 180)
MIN_SSIM, MIN_MEAN_SSIM = 0.99, 0.995
GOLDENS = (
    "kinetic-type",
    "layered-title",
    "news-ticker",
    "slideshow-with-music",
    "split-screen",
    "world-text",
)

PAGE = """<!doctype html><style>
html, body { margin: 0; height: 100%; background: linear-gradient(#124, #335); color: #fff;
  font: 700 20px "DejaVu Sans" }
h1, p, i, b { position: absolute; margin: 0; left: 20px }
h1 { top: 20px; font-size: 28px; animation: enter 1s ease-out both, grow 1s 1s both }
#bar { position: absolute; left: 21px; top: 61px; width: 201px; height: 5px; background: #f80;
  transform-origin: 0 0; animation: widen 1s .2s both }
#line { position: absolute; left: 20px; top: 75px; width: 250px; height: 25px; overflow: hidden }
#line span { display: inline-block; animation: rise .7s .3s both }
#group { position: absolute; inset: 0; animation: fade 1s 1s both }
#under { position: absolute; left: 180px; top: 100px; width: 80px; height: 60px; background: #c33 }
#over { position: absolute; left: 200px; top: 90px; width: 80px; height: 60px; background: #3c3;
  border-radius: 12px; animation: turn 2s linear both }
#late { position: absolute; left: 20px; top: 130px; visibility: hidden;
  animation: show 2s steps(1) both }
@keyframes enter { from { transform: translateX(-80px); opacity: 0 } }
@keyframes grow { to { scale: 1.3 } }
@keyframes widen { from { transform: scaleX(0) } }
@keyframes rise { from { transform: translateY(100%) } }
@keyframes fade { to { opacity: .4 } }
@keyframes turn { to { rotate: 90deg } }
@keyframes show { 40% { visibility: visible } 80% { visibility: hidden } }
</style><h1>Known motion</h1><div id="bar"></div>
<div id="line"><span>from below a line</span></div>
<div id="group"><div id="under"></div><div id="over"></div></div><div id="late">Late</div>"""


def order(html: str, method: PageMethod = PageMethod.COMPOSED) -> FilmOrder:
    return FilmOrder(
        html=html,
        width_px=320,
        height_px=180,
        fps=Fraction(30),
        duration_ms=2000,
        page_method=method,
    )


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("stock"), stock_makers())


def check(found: list[Likeness], *, least: float = MIN_SSIM) -> None:
    assert min(each.ssim for each in found) >= least
    assert float(np.mean([each.ssim for each in found])) >= MIN_MEAN_SSIM
    assert all(each.is_close for each in found)


def make(film: FilmOrder, browser: Browser, path: Path) -> FilmResult:
    return make_film(film, browser, path, limits=FILM_LIMITS)


def test_composed_frames_match_chromium_for_all_supported_motion(browser: Browser) -> None:
    # Enlarged text fills much of this small frame, and may lie one pixel apart.
    check(list(likenesses(order(PAGE), browser, every=2)), least=0.98)


@pytest.mark.parametrize("name", GOLDENS)
def test_goldens_look_the_same_composed_and_filmed(
    browser: Browser, stock: LocalAssets, name: str
) -> None:
    film, every = golden_film(GoldenComposition(FOLDER / name), stock)
    check(list(likenesses(film, browser, every=every)))


NESTED = """<style>body { margin: 0; background: #e8c } div { position: absolute }
  #outer { inset: 0; animation: fade 2s linear both }
  #inner { width: 120px; height: 90px; animation: fade 2s linear both }
  #under, #over { width: 80px; height: 60px; background: #133 }
  #over { left: 20px; top: 20px; background: #311; animation: rise 2s both }
  #apart { left: 200px; top: 100px; width: 40px; height: 40px; animation: rise 2s both }
  @keyframes fade { from { opacity: .9 } to { opacity: .1 } }
  @keyframes rise { to { translate: 0 10px } }</style>
  <div id="outer"><div id="inner"><div id="under"></div><div id="over"></div></div>
  <div id="apart">Apart</div></div>"""


def test_a_group_that_fades_inside_another_is_blended_as_by_chromium(browser: Browser) -> None:
    theirs = Planes.empty(320, 180)
    for composed, filmed in frames_both_ways(order(NESTED), browser, every=4):
        bgra_to_yuv420(filmed, theirs)
        inside = np.s_[32:58, 22:78]
        brighter = np.mean(composed.y[inside].astype(int) - theirs.luma[inside].astype(int))
        # Blended in another way, it would be brighter by two levels in some frames.
        assert abs(brighter) < 1.5


CLIPPED = """<style>body { margin: 0; background: #234 } div { position: absolute; inset: 20px }
  #wipe { background: linear-gradient(90deg, #c60, #06c); animation: wipe 2s linear both }
  #hole { background: #fff; animation: open 2s linear both }
  p { margin: 30px; font: 24px "DejaVu Sans"; animation: fade 1s both }
  @keyframes wipe { from { clip-path: inset(0 100% 10px 0) } to { clip-path: inset(0) } }
  @keyframes open { from { clip-path: circle(0px at 50% 50%) }
    to { clip-path: circle(60px at 40% 50%) } }
  @keyframes fade { from { opacity: 0 } }</style>
  <div id="wipe"><p>Wiped</p></div><div id="hole"><p>Opened</p></div>"""


def test_clip_paths_that_change(browser: Browser) -> None:
    check(list(likenesses(order(CLIPPED), browser, every=4)))


FOUND = """<style>body { margin: 0; background: #134; font: 18px "DejaVu Sans"; color: #fd4 }
  div, i, b, svg, p { position: absolute; margin: 0 }
  #clip { left: 10px; top: 10px; width: 90px; height: 50px; overflow: hidden; border-radius: 12px }
  #clip b { left: 30px; top: 20px; width: 140px; height: 70px; background: #c36 }
  #clip i { left: -20px; top: 2px; width: 40px; height: 9px; background: #3c6;
    animation: slide 2s linear both }
  svg { left: 220px; top: 10px; width: 60px; height: 60px; animation: blink .8s steps(2) infinite }
  #below { position: static; padding: 70px 0 0 150px; animation: blink 1s both }
  #over { left: 140px; top: 76px; width: 60px; height: 30px; background: #46c }
  #round { left: 20px; top: 105px; width: 111px; height: 60px; background: #fa0;
    animation: cut 2s ease-out both }
  #hides { left: 240px; top: 90px; translate: 9px; animation: blink 1s both }
  #seen { width: 30px; height: 20px; background: #6cf; animation: show 1s both }
  #tint { left: 200px; top: 120px; width: 100px; height: 50px; animation: tint .1s both }
  @keyframes show { to { visibility: visible } }
  @keyframes tint { to { background: #246 } }
  @keyframes slide { to { translate: 110px 20px } }
  @keyframes blink { from { visibility: visible } to { visibility: hidden } }
  @keyframes cut { from { clip-path: inset(1% 3% round 9px) } to { clip-path: inset(4% 9%) } }
</style><div id="clip"><i></i><b></b></div><div id="over"></div><p id="below">Below</p>
<svg viewBox="0 0 9 9"><circle cx="4" cy="4" r="4" fill="#f66"/></svg><div id="round"></div>
<div id="hides"><i id="seen"></i></div><div id="tint"><ef-timegroup mode="fixed" offset="800ms"
  duration="700ms">Late</ef-timegroup></div>"""


@pytest.mark.fuzz_find
def test_clips_drawings_and_texts_that_hide_and_are_hidden(browser: Browser) -> None:
    check(list(likenesses(order(FOUND), browser, every=2)))


# Neither a part of a line nor what has no box of its own is moved, and the latter does not fade.
UNMOVED = """<style>body { margin: 0; background: #134 } p { margin: 9px; font-size: 20px }
  span { background: #c33; animation: go 1s both } b { display: contents; animation: go 1s both }
  i { position: absolute; left: 20px; top: 60px; width: 80px; height: 60px; background: #fa0 }
  i i { animation: fade 1s both } u { position: absolute; left: 200px; top: 60px; width: 60px;
    height: 60px; background: if(style(--ef-progress > .4): #3c3; else: #c3c) }
  @keyframes go { to { transform: translateX(90px); opacity: .3 } }
  @keyframes fade { to { opacity: 0 } }</style>
<ef-timegroup duration="2s" style="width: 320px; height: 180px; background: #134">
  <p>A <span>part</span> of a line</p><b><i><i></i></i></b><u></u></ef-timegroup>"""


def test_what_cannot_be_moved_stays(browser: Browser) -> None:
    check(list(likenesses(order(UNMOVED), browser, every=5)))


def test_a_random_page_is_filmed_both_ways(browser: Browser, stock: LocalAssets) -> None:
    html = random_page(4007)
    assert html == random_page(4007) != random_page(0)
    found = film_both_ways(html, browser, stock)
    assert (found.verdict, len(found.frames)) == ("composed", 48)


# After its animation, the box no longer lies above the text that follows it.
# Whoever samples lines as fine as that gets others.
MISLEADING = """<style>body { margin: 0 }
  div { width: 300px; height: 120px; animation: shrink 3.9s;
    background: repeating-linear-gradient(90deg, #000 0 1px, #fff 1px 2px) }
  @keyframes shrink { from { scale: .93 } to { scale: .87 } }</style><div></div>"""


def slow(html: str, method: PageMethod = PageMethod.COMPOSED) -> FilmOrder:
    """Return a film of two slices, of 20 and 10 frames."""
    return replace(order(html, method), fps=Fraction(5), duration_ms=6000)


def test_slices_that_look_different_are_filmed(browser: Browser, tmp_path: Path) -> None:
    film = replace(slow(MISLEADING), duration_ms=4000)
    composed = make(film, browser, tmp_path / "composed.mp4")
    make(replace(film, page_method=PageMethod.FILMED), browser, tmp_path / "filmed.mp4")
    assert composed.record.composed_frames == 0
    assert "SSIM" in str(composed.record.filmed_reason)
    assert (tmp_path / "composed.mp4").read_bytes() == (tmp_path / "filmed.mp4").read_bytes()


def test_a_slice_after_one_that_looks_different_may_be_composed(
    browser: Browser, tmp_path: Path
) -> None:
    # Nothing has another size in the second slice.
    made = make(slow(MISLEADING), browser, tmp_path / "film.mp4")
    assert (made.record.composed_frames, made.record.filmed_reason) == (10, None)


class AssetsOnce:
    """Each source can be fetched once only."""

    def __init__(self, inner: LocalAssets) -> None:
        self._inner = inner
        self._fetched: set[str] = set()

    def fetch(self, url: str) -> LocalAsset:
        if url in self._fetched:
            raise InvalidInput(f"{url} was fetched before")
        self._fetched.add(url)
        return self._inner.fetch(url)


def test_a_page_that_cannot_be_loaded_twice_is_filmed(
    browser: Browser, stock: LocalAssets, tmp_path: Path
) -> None:
    html = '<ef-timegroup duration="1s" style="width: 64px; height: 64px">' + (
        '<ef-image src="https://media.test/dawn.jpg"></ef-image></ef-timegroup>'
    )
    assets = AssetsOnce(stock)
    # A page whose text names its size is loaded once to be filmed.
    film = FilmOrder(html, assets=assets, page_method=PageMethod.COMPOSED)
    made = make(film, browser, tmp_path / "film.mp4")
    assert "could not be drawn" in str(made.record.filmed_reason)
    assert len(decode_frames(tmp_path / "film.mp4")) == made.plan.timeline.frame_count


MOVED = "<p style='animation: move 1s'>A</p><style>@keyframes move { to { %s } }</style>"
OBSTACLES = {
    "a transition has started": "<style>i { transition: opacity 1s } :root:has(p) i { opacity: 0 }"
    "</style><i>A</i><script>document.body.offsetTop; document.body.append("
    "document.createElement('p')); document.body.offsetTop</script>",
    "animated custom property": MOVED % "--x: 3",
    "another timeline": MOVED % "opacity: 0" + "<p style='animation: fade linear both;"
    " animation-timeline: scroll()'>B</p><style>@keyframes fade { to { opacity: 0 } }</style>",
    "mix-blend-mode": "<p style='mix-blend-mode: multiply'>A</p>" + MOVED % "opacity: 0",
    "draws itself": "<canvas aria-hidden></canvas>" + MOVED % "opacity: 0",
    "perspective": "<div style='perspective: 90px'>" + MOVED % "transform: rotateY(20deg)",
    "a filter around": "<div style='filter: blur(1px)'>" + MOVED % "opacity: 0",
    "animated zIndex": MOVED % "z-index: 3",
    "animated overflowX": MOVED % "overflow: hidden",
    "contain: paint around": "<div style='contain: paint'>" + MOVED % "translate: 9px",
    "-webkit-box-reflect": "<div style='-webkit-box-reflect: below'>" + MOVED % "opacity: 0",
    "a copy of what is animated": "<svg><g id=a><g style='animation: move 1s'></g></g>"
    "<use href=#a /></svg>" + MOVED % "opacity: 0",
    "stop: an animation in what other elements show": "<svg><linearGradient><stop"
    " style='animation: move 1s'></stop></linearGradient></svg>" + MOVED % "stop-color: red",
    "animate: an animation in what other elements show": "<svg><filter><feFlood><animate />"
    "</feFlood></filter></svg>" + MOVED % "opacity: 0",
    "a rule follows --ef-progress": "<style>@container style(--ef-progress > .5) { b { top: 0 } }"
    "</style>" + MOVED % "opacity: 0",
    "a shadow tree": "<div><template shadowrootmode=open>A</template></div>" + MOVED % "opacity: 0",
    "waits for motion": MOVED % "opacity: 0"
    + "<script>document.addEventListener('animationend', () => 0)</script>",
}
FADE = "<style>@keyframes fade { to { opacity: 0 } }</style>"
LATER_OBSTACLES = {
    # Once its animation has ended, the box is below what has a place of its own.
    "its place in the painting changes": "<u style='position: absolute; background: #06c'>A</u>"
    "<p style='margin: 0; animation: fade 1s'>A</p>" + FADE,
    "too many animations that end": "<p style='animation: fade 1s'>A</p>" * 21 + FADE,
}
"""Found only where there are no others, or instead of others."""


@pytest.fixture(scope="module")
def plan(browser: Browser) -> FilmPlan:
    """The plan of every page of this length that says nothing about itself."""
    return plan_of(order("<p>A"), browser)


def obstacles(html: str, browser: Browser, plan: FilmPlan) -> tuple[str, ...]:
    with (
        pytest.raises(NotComposable) as error,
        open_drawing_page(order(html), browser, plan, FILM_LIMITS),
    ):
        pass
    return error.value.reasons


def test_a_page_that_cannot_be_composed_names_all_reasons(browser: Browser, plan: FilmPlan) -> None:
    contents = enumerate(OBSTACLES.values())
    # Each has its own keyframes.
    each_moved = (html.replace("move", f"move-{number}") for number, html in contents)
    html, _ = side_by_side(each_moved, FrameSize(90, 60))
    found = obstacles(html, browser, plan)
    assert [name for name in OBSTACLES if not any(name in each for each in found)] == []


@pytest.mark.parametrize("reason", LATER_OBSTACLES)
def test_what_changes_when_an_animation_ends_is_named(
    browser: Browser, plan: FilmPlan, reason: str
) -> None:
    assert any(reason in each for each in obstacles(LATER_OBSTACLES[reason], browser, plan))


@pytest.mark.parametrize(
    "style", ["zoom: 1.5", 'offset-path: path("M9 9 L90 90")', "transform-box: content-box"]
)
def test_motion_with_another_geometry_is_filmed(
    browser: Browser, plan: FilmPlan, style: str
) -> None:
    turn = "<style>@keyframes turn { to { rotate: 9deg } }</style>"
    film = order(f"{turn}<div style='{style}; animation: turn 1s both'>A</div>")
    with (
        open_drawing_page(film, browser, plan, FILM_LIMITS) as page,
        pytest.raises(NotComposable, match=f"it moves with {style.partition(':')[0]}"),
    ):
        FrameComposer(page).read(0, 2)


def test_only_long_and_large_films_are_composed_automatically(browser: Browser) -> None:
    small = replace(order(PAGE, PageMethod.AUTO), duration_ms=4000)
    film = replace(small, width_px=640, height_px=360)
    short = replace(film, duration_ms=3900)
    for opened, expected in (
        (film, {PageMethod.AUTO: ()}),
        (small, {PageMethod.AUTO: ("its frames have less than 640x360 pixels",)}),
        (short, {PageMethod.AUTO: ("it has less than 120 frames",), PageMethod.COMPOSED: ()}),
    ):
        with open_page_renderer(opened, browser, FILM_LIMITS) as filmed:
            for method, reasons in expected.items():
                assert film_obstacles(replace(opened, page_method=method), filmed) == reasons


GROWING = """<style>body { margin: 0; background: #234; color: #fff; font: 22px "DejaVu Sans" }
p { margin: 40px }</style>%s"""
GROWS = """<style>@keyframes change-%s { to { %s } }</style><p style="animation: change-%s 2s linear
both">Letters in every frame another size or angle, <b>and as sharp</b> as Chromium draws them"""


def test_text_that_grows_or_turns_is_as_sharp_as_chromium_draws_it(browser: Browser) -> None:
    motions = enumerate(("scale: 1.2", "scale: .7", "scale: .6 1", "rotate: 9deg"))
    html, size = side_by_side((GROWS % (n, motion, n) for n, motion in motions), CELL)
    film = replace(order(GROWING % html), width_px=size.width_px, height_px=size.height_px)
    ratios = []
    for frame in frames_both_ways(film, browser, every=7):
        for composed, filmed in cut(*frame, CELL):
            planes = Planes.empty(filmed.shape[1], filmed.shape[0])
            bgra_to_yuv420(filmed, planes)
            ratios.append(sharpness(composed.y) / sharpness(planes.luma))
    for number in range(4):
        found = ratios[number::4]
        assert 0.9 < np.mean(found) < 1.15, (number, found)
        assert min(found) > 0.8, (number, found)


def sharpness(plane: NDArray[np.uint8]) -> float:
    across, down = (np.diff(plane.astype(float), axis=axis) for axis in (1, 0))
    return float((across**2).sum() + (down**2).sum())


PIXELS = "<img src='https://media.test/dawn.jpg' style='width: 200px; animation: move 12s linear'>"
MOTION = "<style>body { margin: 0; font: 30px serif } @keyframes move { to { %s } }</style>"
SVG = "data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 9 9%22></svg>"
GROUP = "<div style='animation: move 12s linear'>%s</div>"
SHARP = {
    "text that slides": ("<p style='animation: move 12s linear'>A</p>", "translate: 90px"),
    "text that grows": ("<p style='animation: move 12s linear'>A</p>", "scale: 1.1"),
    "text in a box between columns": (
        "<p style='background: #acf; animation: move 12s linear'>A</p>",
        "translate: 90px",
    ),
    "text in a box on whole pixels": (
        "<p style='background: #acf; animation: move 12s steps(360)'>A</p>",
        "translate: 360px",
    ),
    "text in a group that turns": (GROUP % "<p>A</p>", "rotate: 1deg"),
    "a box in a group that grows": (
        GROUP % "<i style='display: block; height: 50px; background: red'></i>",
        "transform: scale(1.1)",
    ),
    "a picture that grows": (PIXELS, "transform: scale(1.1)"),
    "a drawing that grows": (PIXELS.replace("https://media.test/dawn.jpg", SVG), "scale: 2"),
    "a picture with a border that grows": (
        PIXELS.replace("200px;", "200px; border: 1px solid;"),
        "scale: 1.1",
    ),
}
BETTER_FILMED = {
    "text that grows too large": (
        "<p style='animation: move 3ms linear both'>A</p>",
        "scale: 7.9",
        EDGES_RESAMPLED,
    ),
    "text in a box between rows": (
        "<p style='background: #acf; animation: move 12s linear'>A</p>",
        "translate: 0 90px",
        EDGES_RESAMPLED,
    ),
    "a clip path between pixels": (
        "<hr style='clip-path: inset(0); animation: move 12s linear'>",
        "clip-path: inset(0 50%)",
        EDGES_RESAMPLED,
    ),
    "text that jumps now and then": (
        "<p style='animation: move 12s steps(9)'>A</p>",
        "translate: 90px",
        FRAMES_REPEAT,
    ),
}


@pytest.fixture(scope="module")
def long_plan(browser: Browser) -> FilmPlan:
    return plan_of(replace(order("<p>A"), duration_ms=12_000), browser)


def raise_if_filmed(html: str, browser: Browser, stock: LocalAssets, plan: FilmPlan) -> None:
    film = replace(order(html), duration_ms=12_000, assets=stock)
    with open_drawing_page(film, browser, plan, FILM_LIMITS) as page:
        composer = FrameComposer(page)
        raise_if_better_filmed(composer, composer.read(0, 3), 3)


def test_auto_composes_what_is_as_sharp(
    browser: Browser, stock: LocalAssets, long_plan: FilmPlan
) -> None:
    contents = (
        (MOTION % motion + content).replace("move", f"move-{number}")
        for number, (content, motion) in enumerate(SHARP.values())
    )
    html, _ = side_by_side(contents, CELL)
    raise_if_filmed(html, browser, stock, long_plan)


@pytest.mark.parametrize("name", BETTER_FILMED)
def test_auto_films_what_would_be_softer_or_saves_nothing(
    browser: Browser, stock: LocalAssets, long_plan: FilmPlan, name: str
) -> None:
    content, motion, reason = BETTER_FILMED[name]
    with pytest.raises(NotComposable, match=reason):
        raise_if_filmed(MOTION % motion + content, browser, stock, long_plan)
