"""Pages that throw, hang, leave or reach out: a right film or a clear reason, and soon.

All share one warm browser, as the pages of a worker do: whatever one page did, the next is filmed.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser, WarmBrowser, open_browser
from framekiln.capture.errors import (
    BrowserTimeout,
    PageBlocked,
    PageCrashed,
    PageLeft,
    PageNeverSettled,
    PageThrew,
)
from framekiln.capture.sandbox import Confinement, strongest_confinement
from framekiln.engine.errors import FilmTookTooLong, LengthUnknown
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder
from framekiln.engine.missing_media import AssetMissing
from tests.e2e.conftest import processes_under
from tests.support.looks import colour_at, decode_frames
from tests.support.timeouts import FILM_LIMITS, increasing_limits

BLUE, GREEN = (1, 0, 255), (0, 255, 1)
Colour = tuple[int, int, int]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium of its own: pages here do harm."""
    with open_browser() as browser:
        yield browser


class BrowserHarness:
    """A warm browser and the films it made."""

    def __init__(self, path: Path) -> None:
        self.warm = WarmBrowser()
        self._path = path

    def film(self, body: str, limits: FilmLimits = FILM_LIMITS) -> tuple[FilmResult, list[Colour]]:
        """Film a blue page with `body` in it; return the colour of each frame's corner too."""
        style = "<style>html { height: 100% } body { margin: 0; background: #00f }</style>"
        html = f"<!doctype html><html><head>{style}</head><body>{body}"
        order = FilmOrder(html, width_px=320, height_px=180, fps=Fraction(10), duration_ms=1000)
        with self.warm.use("owner") as browser:
            film = make_film(order, browser, self._path, limits=limits)
        return film, [colour_at(frame.rgb, 310, 170) for frame in decode_frames(self._path)]

    def film_good_page(self) -> None:
        """Show that the browser still films pages, whatever others did in it."""
        _, colours = self.film("<script>document.body.style.background = '#0f0'</script>")
        assert colours == [GREEN] * 10

    def film_within(self, limit_s: float, body: str) -> None:
        """Film such a page, with a limit for each of its steps."""
        self.film(body, replace(FILM_LIMITS, settle_s=limit_s, frame_s=limit_s))


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
    assert colours == [BLUE] * 10


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
    "in a worker": ("new Worker(URL.createObjectURL(new Blob(['while (true) {}'])))", "frame"),
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
    "asks people": "alert(1); confirm(2); prompt(3); setTimeout(() => alert(4), 300)",
    "prints": "print(); setTimeout(print, 200)",
    "closes itself": "close(); setTimeout(close, 300)",
    "opens windows": "for (let i = 0; i < 9; i += 1) open('about:blank')",
    "stops for a debugger": "debugger; setTimeout(() => { debugger }, 200)",
    "sets timers without end": "(function f() { setTimeout(f, 0) })()",
    "asks for files without end": "(function f() { fetch('/x').catch(() => 0).then(f) })()",
    "moves in its history": "setInterval(() => history.pushState(0, '', `?${Math.random()}`), 5)",
    "saves a file": (
        "const a = document.createElement('a'); a.href = 'data:,x'; a.download = 'x'; a.click()"
    ),
    "wants the screen": "document.documentElement.requestFullscreen().catch(() => {})",
    "wants to know where it is": "navigator.geolocation.getCurrentPosition(() => {}, () => {})",
    "defines our name": "window.__framekiln = { version: 9, pending: () => ['never'] }",
    "makes sound": "const a = new AudioContext(), o = a.createOscillator();"
    "o.connect(a.destination); o.start()",
}


@pytest.mark.parametrize("script", HARMLESS.values(), ids=HARMLESS)
def test_unusual_pages_are_filmed(shared_harness: BrowserHarness, script: str) -> None:
    _, colours = shared_harness.film(f"<script>{script}</script>")
    assert colours == [BLUE] * 10


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
        assert colours == [BLUE] * 10


def test_a_page_without_a_duration_fails(shared_harness: BrowserHarness, tmp_path: Path) -> None:
    with shared_harness.warm.use("owner") as browser, pytest.raises(LengthUnknown) as raised:
        make_film(FilmOrder("<p>x", width_px=320, height_px=180), browser, tmp_path / "x.mp4")
    assert "data-duration-ms" in raised.value.message


def test_a_film_over_its_time_limit_fails(shared_harness: BrowserHarness) -> None:
    with pytest.raises(FilmTookTooLong) as raised:
        shared_harness.film("<p>x", FilmLimits(whole_s=0))
    assert raised.value.message == "not finished after 0 s, at frame 0 of 10"


def test_an_impossible_allocation_fails_the_film(harness: BrowserHarness) -> None:
    with pytest.raises(PageThrew) as raised:
        harness.film("<script>setTimeout(() => new Uint8Array(2 ** 45), 200)</script>")
    assert "RangeError" in raised.value.message


def test_a_crashed_page_process_fails_the_film(harness: BrowserHarness, tmp_path: Path) -> None:
    """As a page does that uses too much memory."""
    order = FilmOrder("<p>x", width_px=320, height_px=180, duration_ms=1000)

    def film() -> FilmResult:
        with harness.warm.use("owner") as browser:
            kill = partial(end_renderers_at_frame_3, browser)
            return make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS, report=kill)

    with pytest.raises(PageCrashed) as raised:
        film()
    assert "crashed while drawing frame" in raised.value.message


def end_renderers_at_frame_3(browser: Browser, done: int, _count: int) -> None:
    for pid in processes_under(browser.pid) if done == 3 else ():
        if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """A loopback port, TCP and UDP, and a note of everybody who came."""
    came: list[str] = []
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        tcp.settimeout(0.1)
        udp.settimeout(0.1)
        is_over = threading.Event()

        def note() -> None:
            while not is_over.is_set():
                with suppress(TimeoutError):
                    tcp.accept()[0].close()
                    came.append("tcp")
                with suppress(TimeoutError):
                    udp.recv(2000)
                    came.append("udp")

        thread = threading.Thread(target=note)
        thread.start()
        try:
            yield port, came
        finally:
            is_over.set()
            thread.join()


REACHING_OUT = """
<p style="background: url(http://{host}/image)">x</p><link rel="preconnect" href="http://{host}">
<link rel="stylesheet" href="http://{host}/style"><iframe src="http://{host}/frame"></iframe>
<script>
  let refused = 0;
  const note = () => {{
    refused += 1;
    if (refused === 4) document.body.style.background = "#0f0";
  }};
  fetch("http://{host}/fetch").catch(note);
  new WebSocket("ws://{host}/socket").onerror = note;
  new EventSource("http://{host}/events").onerror = function () {{ this.close(); note(); }};
  try {{
    const request = new XMLHttpRequest();
    request.open("GET", "http://{host}/sync", false);
    request.send();
  }} catch {{ note(); }}
  navigator.sendBeacon("http://{host}/beacon", "x");
  const peer = new RTCPeerConnection({{ iceServers: [
    {{ urls: "stun:{host}" }},
    {{ urls: "turn:{host}?transport=tcp", username: "a", credential: "b" }},
  ] }});
  peer.createDataChannel("x");
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  navigator.serviceWorker.register("/worker.js").catch(() => {{}});
</script>"""


def test_pages_have_no_network(harness: BrowserHarness) -> None:
    hosts = ("169.254.169.254", "127.0.0.1:22", "[::1]", "localhost", "example.com")
    for host in hosts:
        film, colours = harness.film(REACHING_OUT.format(host=host))
        assert colours[-1] == GREEN
        why = "only https addresses are fetched"
        assert f"request refused: http://{host}/fetch: {why}" in film.record.warnings
        assert f"request refused: http://{host}/frame: {why}" in film.record.warnings


@pytest.mark.parametrize("confinement", Confinement)
def test_no_confinement_allows_network_access(tmp_path: Path, confinement: Confinement) -> None:
    """Also not where there is no network namespace to keep it in."""
    confinements = list(Confinement)
    if confinements.index(confinement) < confinements.index(strongest_confinement()):
        pytest.skip(f"this machine does not allow the sandbox {confinement.name}")
    with listening() as (port, came), open_browser(confinement=confinement) as browser:
        html = REACHING_OUT.format(host=f"127.0.0.1:{port}")
        order = FilmOrder(html, width_px=320, height_px=180, duration_ms=3000)
        make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
        # Sockets are opened in real time, however fast the film's time goes.
        time.sleep(1)
    assert came == []


def test_an_image_from_this_machine_is_named(harness: BrowserHarness) -> None:
    with pytest.raises(
        AssetMissing, match=r"img 1 of 1: src=\"file:///etc/x.png\" cannot be reached"
    ):
        harness.film('<img src="file:///etc/x.png">')


def test_pages_cannot_read_local_files(harness: BrowserHarness) -> None:
    _, colours = harness.film(
        """<p style="background: url(file:///usr/share/pixmaps/debian-logo.png)"></p>
        <iframe src="file:///etc/passwd" onload="look(this)"></iframe><script>
        const leak = () => { document.body.style.background = "#f00"; };
        const look = (frame) => {
          try { if (frame.contentDocument.body.textContent.includes("root")) leak(); } catch {}
        };
        fetch("file:///etc/passwd").then(leak, () => {});
        const logo = "file:///usr/share/pixmaps/debian-logo.png";
        Object.assign(new Image(), { onload: leak, src: logo });
        </script>"""
    )
    assert colours == [BLUE] * 10
