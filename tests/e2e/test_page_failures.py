"""Pages that throw, hang or leave: a right film or a clear reason, and soon.

All share one warm browser, as the pages of a worker do: whatever one page did, the next is filmed.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from framekiln.capture.errors import (
    BrowserTimeout,
    PageBlocked,
    PageLeft,
    PageNeverSettled,
    PageThrew,
)
from framekiln.engine.errors import FilmTookTooLong, LengthUnknown
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder
from tests.support.timeouts import increasing_limits
from tests.support.warm_films import BLUE, FRAMES, BrowserHarness


@pytest.fixture(scope="module")
def shared_harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserHarness]:
    harness = BrowserHarness(tmp_path_factory.mktemp("films") / "film.mp4")
    yield harness
    harness.film_good_page()
    harness.warm.close()


@pytest.fixture
def harness(shared_harness: BrowserHarness) -> Iterator[BrowserHarness]:
    """After each test, the same warm browser films a good page.

    Tests of pages that end by themselves use `shared_harness`: the next test films a page as well.
    """
    yield shared_harness
    shared_harness.film_good_page()


THROWING = {
    "while loading": ("throw new Error('boom')", "Error: boom"),
    "in a timer": ("setTimeout(() => { throw new TypeError('late') }, 500)", "TypeError: late"),
    "in a frame": (
        "(function f(ms) { if (ms > 300) nonsense(); requestAnimationFrame(f) })(0)",
        "nonsense is not defined",
    ),
    "not an error": ("setTimeout(() => { throw null }, 100)", ": null"),
    "in its readiness": ("window.renderReady = Promise.reject('no data')", "rejected: no data"),
    "a syntax error": ("const = 1", "SyntaxError"),
    "the contract's name": ("const __framekiln = 1", "__framekiln' has already been declared"),
    "when asked": (
        "Object.defineProperty(window, 'renderReady', { get() { throw new Error('no') } })",
        "Error: no",
    ),
}


@pytest.mark.parametrize(("script", "reason"), THROWING.values(), ids=THROWING)
def test_a_page_that_throws_fails_with_its_message(
    shared_harness: BrowserHarness, script: str, reason: str
) -> None:
    with pytest.raises(PageThrew) as raised:
        shared_harness.film(f"<script>{script}</script>")
    assert reason in raised.value.message
    assert raised.value.code == "page_threw"


def test_a_long_thrown_text_is_truncated(shared_harness: BrowserHarness) -> None:
    with pytest.raises(PageThrew) as raised:
        shared_harness.film("<script>throw new Error('x'.repeat(5_000_000))</script>")
    assert "Error: xxx" in raised.value.message
    assert len(raised.value.message) < 2000


def test_an_error_handled_by_the_page_is_ignored(shared_harness: BrowserHarness) -> None:
    _, colours = shared_harness.film(
        "<script>onerror = () => true; setTimeout(() => { throw new Error('fine') }, 100)</script>"
    )
    assert colours == [BLUE] * FRAMES


BUSY = {
    "while loading": ("while (true) {}", "loading"),
    "in a timer": ("setTimeout(() => { while (true) {} }, 500)", "frame 5"),
    "in a frame": (
        "requestAnimationFrame(function f(ms) { while (ms >= 500) {} requestAnimationFrame(f) })",
        "frame 5",
    ),
    "in microtasks": ("(function f() { Promise.resolve().then(f) })()", "loading"),
    "in messages": (
        "const { port1, port2 } = new MessageChannel();"
        "port1.onmessage = () => port2.postMessage(0); port2.postMessage(0)",
        "frame",
    ),
}


@pytest.mark.parametrize(("script", "where"), BUSY.values(), ids=BUSY)
def test_an_endless_loop_in_a_page_fails_the_film(
    harness: BrowserHarness, script: str, where: str
) -> None:
    for attempt in increasing_limits(PageNeverSettled, BrowserTimeout, AssertionError):
        with attempt as limit_s:
            with pytest.raises(PageBlocked) as raised:
                harness.film_within(limit_s, f"<script>{script}</script>")
            assert where in raised.value.message
            assert f"busy for over {limit_s:g} s" in raised.value.message
            assert raised.value.code == "page_blocked"


def test_an_endless_loop_in_a_worker_fails_the_film(harness: BrowserHarness) -> None:
    body = "<script>new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))</script>"
    for attempt in increasing_limits(AssertionError):
        with attempt as limit_s:
            with pytest.raises((PageNeverSettled, PageBlocked)) as raised:
                harness.film_within(limit_s, body)
            assert "a worker" in raised.value.message or "loop" in raised.value.message


def test_an_endless_loop_in_an_iframe_fails_the_film(harness: BrowserHarness) -> None:
    body = "<iframe sandbox='allow-scripts' srcdoc='<script>while (true) {}</script>'></iframe>"
    for attempt in increasing_limits(PageNeverSettled, BrowserTimeout):
        with attempt as limit_s, pytest.raises(PageBlocked):
            harness.film_within(limit_s, body)


NEVER_READY = {
    "window.renderReady": "window.renderReady = new Promise(() => {})",
    "document (loading)": "(function f() { document.write('<p>x'); setTimeout(f, 0) })()",
}


@pytest.mark.parametrize("waiting_for", NEVER_READY)
def test_a_page_that_is_never_ready_fails(harness: BrowserHarness, waiting_for: str) -> None:
    for attempt in increasing_limits(PageBlocked, BrowserTimeout, AssertionError):
        with attempt as limit_s:
            with pytest.raises(PageNeverSettled) as raised:
                harness.film_within(limit_s, f"<script>{NEVER_READY[waiting_for]}</script>")
            assert waiting_for in raised.value.message
            assert raised.value.details["waiting_for"] == [waiting_for]


LEAVING = {
    "at once": ("<script>location.href = 'https://example.com/'</script>", "https://example.com/"),
    "later": (
        "<script>setTimeout(() => { location.href = 'https://example.com/' }, 300)</script>",
        "https://example.com/ while drawing frame 3",
    ),
    "asking first": (
        "<script>onbeforeunload = () => 'stay'; setTimeout(() => location.assign('/x'), 300)"
        "</script>",
        "http://127.0.0.1/x",
    ),
    "by refresh": ("<meta http-equiv=refresh content='0;url=https://example.com/'>", "example.com"),
    "to itself": ("<script>location.reload()</script>", "http://127.0.0.1/"),
    "to nothing": ("<script>setTimeout(() => location = 'about:blank', 300)</script>", "about:b"),
    "to a blob": (
        "<script>setTimeout(() => location = URL.createObjectURL(new Blob(['x'])), 300)</script>",
        "blob:",
    ),
}


@pytest.mark.parametrize(("body", "where"), LEAVING.values(), ids=LEAVING)
def test_a_page_that_navigates_away_fails(
    shared_harness: BrowserHarness, body: str, where: str
) -> None:
    with pytest.raises(PageLeft) as raised:
        shared_harness.film(body)
    assert where in raised.value.message
    assert raised.value.code == "page_left"


HARMLESS = {
    "asks people, prints and saves a file": (
        "alert(1); confirm(2); prompt(3); setTimeout(() => alert(4), 300);"
        "print(); setTimeout(print, 200);"
        "const a = document.createElement('a'); a.href = 'data:,x'; a.download = 'x'; a.click()"
    ),
    "closes itself": "close(); setTimeout(close, 300)",
    "opens windows": "for (let i = 0; i < 9; i += 1) open('about:blank')",
    "stops for a debugger": "debugger; setTimeout(() => { debugger }, 200)",
    "sets timers without end": "(function f() { setTimeout(f, 0) })()",
    "asks for files without end": "(function f() { fetch('/x').catch(() => 0).then(f) })()",
    "moves in its history": "setInterval(() => history.pushState(0, '', `?${Math.random()}`), 5)",
    "wants the screen and to know where it is": (
        "document.documentElement.requestFullscreen().catch(() => {});"
        "navigator.geolocation.getCurrentPosition(() => {}, () => {})"
    ),
    "defines our name": "window.__framekiln = { version: 9, pending: () => ['never'] }",
    "makes sound": "const a = new AudioContext(), o = a.createOscillator();"
    "o.connect(a.destination); o.start()",
}


@pytest.mark.parametrize("script", HARMLESS.values(), ids=HARMLESS)
def test_unusual_pages_are_filmed(shared_harness: BrowserHarness, script: str) -> None:
    _, colours = shared_harness.film(f"<script>{script}</script>")
    assert colours == [BLUE] * FRAMES


SPOILING = {
    "empties the globals": (
        "JSON = Promise = Math = Date = requestAnimationFrame = performance = setTimeout = null"
    ),
    "spoils what is built in": (
        "JSON = {}; Promise = function () {}; Math.round = Math.abs = Math.max = () => NaN;"
        "Number.isFinite = () => false; Map.prototype.get = Map.prototype.set = null;"
        "Object.defineProperty = Object.freeze = null; performance.now = Date.now = () => NaN;"
        "Object.prototype.toJSON = () => { throw 1 }"
    ),
}


@pytest.mark.parametrize("script", SPOILING.values(), ids=SPOILING)
def test_a_page_that_overwrites_builtins_is_filmed_or_named(
    shared_harness: BrowserHarness, script: str
) -> None:
    """What we run inside the page may need them too; then the reason says what is missing."""
    try:
        _, colours = shared_harness.film(f"<script>{script}</script>")
    except PageThrew as error:
        assert "Error" in error.message  # noqa: PT017
    else:
        assert colours == [BLUE] * FRAMES


SCENE = '<ef-timegroup duration="1s"></ef-timegroup>'
WITHOUT_DURATION = {
    "a page": ("<p>x", r"^the length is unknown: .* data-duration-ms"),
    "a sequence that its overlap leaves nothing of": (
        f'<ef-timegroup mode="sequence" overlap="3s">{SCENE * 2}</ef-timegroup>',
        r"^the composition has no length: body > ef-timegroup has an overlap of 3000 ms",
    ),
}


@pytest.mark.parametrize(("html", "message"), WITHOUT_DURATION.values(), ids=WITHOUT_DURATION)
def test_a_page_without_a_duration_fails(
    shared_harness: BrowserHarness, tmp_path: Path, html: str, message: str
) -> None:
    order = FilmOrder(html, width_px=320, height_px=180)
    with (
        shared_harness.warm.use("owner") as browser,
        pytest.raises(LengthUnknown, match=message),
    ):
        make_film(order, browser, tmp_path / "x.mp4")


def test_a_film_over_its_time_limit_fails(shared_harness: BrowserHarness) -> None:
    with pytest.raises(FilmTookTooLong) as raised:
        shared_harness.film("<p>x", FilmLimits(whole_s=0))
    assert raised.value.message == "not finished after 0 s, at frame 0 of 6"
