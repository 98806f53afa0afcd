"""The two sides of the page contract agree: the runtime in the page, and `capture/page.py`."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import pytest

from framekiln.capture import page as python_side
from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from framekiln.capture.network import PageNetwork, Resource, no_resources
from framekiln.capture.page import FrameSize, Page, PageFacts, open_page
from framekiln.capture.page_scripts import EPOCH_MS
from tests.support.compositions import load_composition
from tests.support.timeouts import TIMEOUT_S

VERSION = 2
Load = Callable[..., tuple[Page, PageFacts]]


@pytest.fixture
def load(browser: Browser) -> Iterator[Load]:
    """Load a page and say what it says of itself."""
    with ExitStack() as stack:

        def load(html: str) -> tuple[Page, PageFacts]:
            page = stack.enter_context(open_page(browser, FrameSize(320, 180)))
            document = Resource(f"<!doctype html>{html}".encode(), "text/html; charset=utf-8")
            return page, page.load(PageNetwork(document, no_resources), settle_within_s=TIMEOUT_S)

        yield load


def evaluated(load: Load, expression: str, html: str = "<body>") -> Any:
    page, _ = load(html)
    return page.evaluate(expression)


def test_every_called_function_exists_in_the_page(load: Load) -> None:
    called = set(re.findall(r"__framekiln\.(\w+)\(", inspect.getsource(python_side)))
    page, _ = load("<body>")
    assert called
    for name in called:
        assert page.evaluate(f"typeof __framekiln.{name}") == "function", name


def test_a_page_cannot_change_the_contract(load: Load) -> None:
    page, _ = load("<script>var __framekiln = 1; window.__framekiln = 2;</script>")
    assert page.evaluate("delete window.__framekiln || Object.isFrozen(__framekiln)") is True
    assert page.evaluate("typeof __framekiln.version") == "number"


def test_the_runtime_defines_one_hidden_global(load: Load) -> None:
    page, _ = load("<body>")
    names = page.evaluate("Object.getOwnPropertyNames(window).filter(n => /framekiln/i.test(n))")
    assert names == ["__framekiln"]
    assert page.evaluate("Object.keys(window).includes('__framekiln')") is False


SAYING = {
    "nothing": ("<body>", PageFacts(None, None, None, None)),
    "on html": (
        "<html data-width=640 data-height=360 data-fps=29.97 data-duration-ms=1500>",
        PageFacts(640, 360, 29.97, 1500),
    ),
    "on body": ("<body data-width=640 data-fps=24>", PageFacts(640, None, 24, None)),
    "on the first element": (
        "<body><main data-duration-ms='2500.5' data-height=180></main><p data-fps=9></p>",
        PageFacts(None, 180, None, 2500.5),
    ),
    "twice": (
        "<html data-fps=25><body data-fps=50 data-width=100>",
        PageFacts(100, None, 25, None),
    ),
    "nonsense": (
        "<html data-width=wide data-height=-3 data-fps=0 data-duration-ms=Infinity>",
        PageFacts(None, None, None, None),
    ),
}


@pytest.mark.parametrize(("html", "facts"), SAYING.values(), ids=SAYING)
def test_facts_of_a_page_are_read(load: Load, html: str, facts: PageFacts) -> None:
    assert load(html)[1] == facts


ANIMATIONS = """<style>@keyframes go { to { opacity: 0 } }
#a { animation: go 1s } #b { animation: go 500ms 200ms 3 } #c { animation: go 9s infinite }
</style><p id=a>a</p><p id=b>b</p><p id=c>c</p>"""


def test_the_longest_animation_that_ends_is_the_length(load: Load) -> None:
    assert load(ANIMATIONS)[1].duration_ms == 1700
    assert load(f"<html data-duration-ms=300>{ANIMATIONS}")[1].duration_ms == 300
    script = (
        "<script>document.body.animate([{ opacity: 0 }], { duration: 2e3, delay: 100 })</script>"
    )
    assert load(ANIMATIONS + script)[1].duration_ms == 2100
    endless = (
        "<style>@keyframes go { to { opacity: 0 } } p { animation: go 1s infinite }</style><p>"
    )
    assert load(endless)[1].duration_ms is None


def test_random_numbers_are_the_same_in_every_page(load: Load) -> None:
    numbers = "Array.from({ length: 1000 }, Math.random)"
    first = evaluated(load, numbers)
    assert evaluated(load, numbers) == first
    assert len(set(first)) == 1000
    assert all(0 <= number < 1 for number in first)
    assert 0.45 < sum(first) / 1000 < 0.55


def test_the_date_is_fixed_and_still_a_date(load: Load) -> None:
    page, _ = load("<body>")
    assert page.evaluate("[Date.now(), +new Date(), new Date().valueOf()]") == [EPOCH_MS] * 3
    assert page.evaluate("Date()").startswith("Wed Jan 01 2025")
    assert page.evaluate("new Date(5).getTime() + Date.UTC(1970, 0, 1) + Date.parse(0)") == (
        page.evaluate("5 + Date.parse(0)")
    )
    assert page.evaluate(
        "new Date() instanceof Date && new Date().constructor === Date"
        " && class extends Date {}.name === '' && new (class extends Date {})() instanceof Date"
    )


def test_every_clock_starts_at_zero_and_moves_by_frames(load: Load) -> None:
    page, _ = load(
        "<script>const seen = []; requestAnimationFrame(function f(stamp) {"
        "seen.push([stamp, performance.now(), Date.now(), document.timeline.currentTime]);"
        "requestAnimationFrame(f) })</script>"
    )
    # Not 0, which scripts take for a start that is not set yet.
    start_ms = 1e-30
    assert page.evaluate("[performance.now(), seen.length]") == [start_ms, 0]
    fps = Fraction(30000, 1001)
    page.begin(fps, frame_within_s=TIMEOUT_S)
    for n in range(4):
        page.show(n, round(n * 1_000_000 / fps))
    times_ms = [n * 1000 * 1001 / 30000 for n in range(4)]
    assert page.evaluate("seen") == [
        [ms or start_ms, ms or start_ms, EPOCH_MS + int(ms), ms] for ms in times_ms
    ]


def test_a_script_that_takes_no_start_for_0_starts_with_frame_0(load: Load) -> None:
    page, _ = load(
        """<script>const passed = []; let start; requestAnimationFrame(function f(now) {
        if (!start) start = now;
        passed.push(now - start);
        requestAnimationFrame(f) })</script>"""
    )
    page.begin(Fraction(10), frame_within_s=TIMEOUT_S)
    for n in range(3):
        page.show(n, n * 100_000)
    assert page.evaluate("passed") == [0, 100, 200]


def test_timers_fire_at_their_time_unless_cleared(load: Load) -> None:
    page, _ = load(
        """<script>
        const seen = [];
        setTimeout((...given) => seen.push(["timeout", performance.now(), ...given]), 25, 1, "b");
        setTimeout("seen.push(['text', performance.now()])", 45);
        clearTimeout(setTimeout(() => seen.push("cleared"), 10));
        const id = setInterval(() => {
          seen.push(["interval", performance.now()]);
          if (performance.now() >= 60) clearInterval(id);
        }, 20);
        cancelAnimationFrame(requestAnimationFrame(() => seen.push("cancelled")));
        requestAnimationFrame(() => {
          const late = requestAnimationFrame(() => seen.push("cancelled"));
          cancelAnimationFrame(late);
        });
        </script>"""
    )
    page.begin(Fraction(10), frame_within_s=TIMEOUT_S)
    for n in range(3):
        page.show(n, n * 100_000)
    assert page.evaluate("seen") == [
        ["interval", 20],
        ["timeout", 25, 1, "b"],
        ["interval", 40],
        ["text", 45],
        ["interval", 60],
    ]


def test_readiness_names_what_is_missing(load: Load) -> None:
    page, _ = load("<body>")
    assert page.evaluate("__framekiln.pending()") == []
    page.evaluate("window.renderReady = new Promise((_, no) => { window.fail = no; }); 0")
    assert page.evaluate("__framekiln.pending()") == ["window.renderReady"]
    # In one go: the request is refused as soon as the page lets go.
    with_image = "document.body.innerHTML = '<img src=/never.png>'; __framekiln.pending()"
    assert page.evaluate(with_image) == [
        "image http://127.0.0.1/never.png",
        "window.renderReady",
    ]
    page.evaluate("fail('too bad'); 0")
    assert page.evaluate("__framekiln.failure()") == "window.renderReady was rejected: too bad"


def test_errors_thrown_in_the_page_have_a_position(load: Load) -> None:
    page, _ = load("<body>")
    with pytest.raises(
        PageThrew, match=r"line 1, column 1: ReferenceError: nonsense is not defined"
    ):
        page.evaluate("nonsense")


ENDED = """<style>body { background: blue }
@keyframes go { from, to { background: red } }
#short { animation: go 50ms; position: fixed; inset: 0 }
#slow { transition: opacity 50ms; opacity: 1 }</style>"""
ASKING = """<!doctype html><script>
let ticks = 0;
const seen = [];
const answered = () => new Promise((done) => {
  const request = Object.assign(new XMLHttpRequest(), { onload: done });
  request.open("GET", "/answer");
  request.send();
});
setInterval(() => { ticks += 1; }, 10);
window.renderReady = (async () => {
  for (let at = 0; at < 3; at += 1) {
    await (await fetch("/answer")).json();
    await answered();
    seen.push(ticks);
    await new Promise((done) => setTimeout(done, 20));
  }
})();</script>"""


def test_no_timer_fires_while_a_script_waits_for_its_answer(browser: Browser) -> None:
    """Once, time went on when an answer had come, but the script did not have it: in one of six."""
    document, answer = Resource(ASKING.encode(), "text/html"), Resource(b"[]", "application/json")
    for _ in range(8):
        with open_page(browser, FrameSize(320, 180)) as page:
            page.load(PageNetwork(document, lambda _url: answer), settle_within_s=TIMEOUT_S)
            assert page.evaluate("seen") == [0, 2, 4]


HELD = """<script>window.renderReady = new Promise((done) => setTimeout(done, 300));
requestAnimationFrame(() => { slow.style.opacity = 0.5 })</script>"""
RED, BLUE = (255, 0, 0), (0, 0, 255)
AROUND = {
    "a plain page": ("{}", BLUE),
    # Where a group times it, its last picture stays.
    "a composition": ('<ef-timegroup duration="1s">{}</ef-timegroup>', RED),
}


def test_images_are_decoded_once_they_are_loaded(load: Load) -> None:
    """Chromium answers with a later frame; before the first there is none."""
    page, _ = load(
        """<script>const seen = [];
        function decode(name, address) {
          const image = new Image();
          if (address) image.src = address;
          image.decode().then(() => seen.push(name), (error) => seen.push(name + error.name));
        }
        decode("drawing", "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>");
        decode("text ", "data:image/png,text");
        decode("nothing ");
        </script>"""
    )
    assert sorted(page.evaluate("seen")) == [
        "drawing",
        "nothing EncodingError",
        "text EncodingError",
    ]


@pytest.mark.parametrize(("around", "after"), AROUND.values(), ids=AROUND)
def test_animations_restart_after_the_page_was_awaited(
    browser: Browser, around: str, after: tuple[int, int, int]
) -> None:
    inside = around.format("<div id=short></div><i id=slow>x</i>")
    with load_composition(browser, f"{ENDED}{inside}{HELD}") as film:
        assert tuple(film.frame(0)[120, 160]) == RED
        assert film.page.evaluate("getComputedStyle(slow).opacity") == "0.5"
        assert tuple(film.frame(1)[120, 160]) == RED
        assert tuple(film.frame(3)[120, 160]) == after
