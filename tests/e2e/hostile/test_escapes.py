"""Pages that reach for files, the network or Chromium's own pages, or crash their process.

Each ends with a clear reason, or is filmed as if it had not tried. All share one warm browser: the
next page is filmed right.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser, open_browser
from framekiln.capture.errors import PageCrashed, PageThrew
from framekiln.capture.sandbox import Confinement, strongest_confinement
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.missing_media import AssetMissing
from tests.e2e.conftest import processes_under
from tests.support.looks import colour_at, decode_frames
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S
from tests.support.warm_films import BLUE, FRAMES, GREEN, BrowserHarness


@pytest.fixture(scope="module")
def shared_harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserHarness]:
    harness = BrowserHarness(tmp_path_factory.mktemp("films") / "film.mp4")
    yield harness
    harness.warm.close()


@pytest.fixture
def harness(shared_harness: BrowserHarness) -> Iterator[BrowserHarness]:
    """After each test, the same warm browser films a good page."""
    yield shared_harness
    shared_harness.film_good_page()


CRASHING = "'x'.repeat(2 ** 27 + 1).split('')"
"""V8 ends the process at once: no array may be so long."""


def test_a_page_that_crashes_itself_fails_the_film(harness: BrowserHarness) -> None:
    with pytest.raises(PageCrashed) as raised:
        harness.film(f"<script>setTimeout(() => {{ {CRASHING} }}, 200)</script>")
    assert raised.value.code == "page_crashed"


def test_pages_of_chromium_that_crash_or_hang_cannot_be_opened(harness: BrowserHarness) -> None:
    addresses = ["crash", "kill", "hang", "quit", "gpucrash", "memory-exhaust"]
    frames = "".join(f'<iframe src="chrome://{each}"></iframe>' for each in addresses)
    script = "".join(
        f"open('chrome://{each}'); location = 'chrome://{each}';" for each in addresses
    )
    _, colours = harness.film(f"{frames}<script>{script}</script>")
    assert colours == [BLUE] * FRAMES


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
    with listening() as (port, came):
        with open_browser(confinement=confinement) as browser:
            html = REACHING_OUT.format(host=f"127.0.0.1:{port}")
            order = FilmOrder(html, width_px=320, height_px=180, duration_ms=3000)
            make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
        # The page was refused in every way; now nobody is left to try, and we come last.
        assert colour_at(decode_frames(tmp_path / "film.mp4")[-1].rgb, 310, 170) == GREEN
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
        give_up_at = time.monotonic() + TIMEOUT_S
        while not came and time.monotonic() < give_up_at:
            time.sleep(0.05)
    assert came == ["tcp"]


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
    assert colours == [BLUE] * FRAMES
