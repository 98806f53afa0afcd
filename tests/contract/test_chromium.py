"""What we rely on in Chromium: its sandbox, its death, its frame memory. Real browsers only."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from framekiln.capture.browser import Browser, WarmBrowser, open_browser
from framekiln.capture.errors import (
    BrowserDied,
    BrowserMissing,
    PageBlocked,
    PageThrew,
    ProtocolError,
)
from framekiln.capture.framebuffer import Block, Framebuffer, FramebufferNotFound, locate
from framekiln.capture.grabber import Grabber, GrabMethod, RawPixelsDiffer, prepare_grabber
from framekiln.capture.network import PageNetwork, Resource, no_resources
from framekiln.capture.page import FrameSize, Page, open_page
from framekiln.capture.process_tree import descendants, process_type, processes_of_type
from framekiln.capture.sandbox import Confinement, strongest_confinement
from framekiln.engine.film import FilmResult, make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_threads import CheckAlive, FilmThreadPool
from framekiln.kit.cancellation import WorkCancelled
from framekiln.kit.errors import CompositionFailed
from framekiln.media.images.stills import decode_bgra
from tests.e2e.conftest import processes_under
from tests.support.dropped_frames import dropping_frames
from tests.support.looks import decode_frames
from tests.support.raw_pixels import require_raw_pixels
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S

SIZE = FrameSize(320, 180)
ORDER = FilmOrder("<p>x", width_px=320, height_px=180, fps=Fraction(10), duration_ms=1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@contextmanager
def loaded(browser: Browser, html: str, size: FrameSize = SIZE) -> Iterator[Page]:
    with open_page(browser, size) as page:
        load(page, html)
        yield page


def load(page: Page, html: str) -> None:
    document = Resource(f"<!doctype html>{html}".encode(), "text/html; charset=utf-8")
    page.load(PageNetwork(document, no_resources), settle_within_s=TIMEOUT_S)
    page.begin(Fraction(10), frame_within_s=TIMEOUT_S)


def empty() -> np.ndarray:
    return np.zeros((SIZE.height_px, SIZE.width_px, 4), np.uint8)


def sandboxed_pid(browser: Browser) -> int:
    """Return Chromium's first process inside the sandbox."""
    for pid in processes_under(browser.pid):
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"--remote-debugging-pipe" in command and b"bwrap" not in command.split(b"\0")[0]:
            return pid
    raise AssertionError("Chromium is not running")


@pytest.fixture
def namespaces(browser: Browser) -> int:
    if browser.confinement is Confinement.UNPRIVILEGED_USER:
        pytest.skip("this machine does not allow bubblewrap, Chromium's outer sandbox")
    return sandboxed_pid(browser)


def test_the_sandbox_has_no_network(namespaces: int) -> None:
    interfaces = Path(f"/proc/{namespaces}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    ours, theirs = (Path(f"/proc/{pid}/ns/net").readlink() for pid in ("self", namespaces))
    assert ours != theirs


def test_the_sandbox_has_no_files_of_the_machine(namespaces: int) -> None:
    root = Path(f"/proc/{namespaces}/root")
    assert not any((root / name).exists() for name in ("etc/passwd", "root", "home", "var/lib"))
    assert sorted(entry.name for entry in (root / "etc").iterdir()) == [
        name for name in ("alternatives", "fonts", "ld.so.cache") if Path("/etc", name).exists()
    ]
    assert not (root / Path(__file__).relative_to("/")).exists()


def test_the_sandbox_can_only_write_its_own_folders(namespaces: int) -> None:
    mounts = [line.split() for line in Path(f"/proc/{namespaces}/mounts").read_text().splitlines()]
    writable = {m[1] for m in mounts if "rw" in m[3].split(",") and m[2] not in ("proc", "devpts")}
    assert {place for place in writable if not place.startswith("/dev")} <= {"/tmp", "/run"}
    assert all(m[2] == "tmpfs" for m in mounts if m[1] in writable and not m[1].startswith("/dev"))


def test_the_sandbox_has_no_privileges(namespaces: int) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{namespaces}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert int(status["CapEff"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert "--no-sandbox" not in Path(f"/proc/{namespaces}/cmdline").read_text() or (
        strongest_confinement() is Confinement.NAMESPACES
    )


@pytest.mark.parametrize("confinement", Confinement)
def test_no_process_is_left_after_closing(confinement: Confinement) -> None:
    confinements = list(Confinement)
    if confinements.index(confinement) < confinements.index(strongest_confinement()):
        pytest.skip(f"this machine does not allow the sandbox {confinement.name}")
    with open_browser(confinement=confinement) as browser, loaded(browser, "<p>x"):
        pids = [browser.pid, *processes_under(browser.pid)]
        assert len(pids) > 2
        if confinement is Confinement.UNPRIVILEGED_USER:
            assert all(Path(f"/proc/{pid}").stat().st_uid != 0 for pid in pids)
    # The kernel takes its time to end the processes of a sandbox.
    give_up_at = time.monotonic() + TIMEOUT_S
    while any(map(is_running, pids)) and time.monotonic() < give_up_at:
        time.sleep(0.02)
    assert [pid for pid in pids if is_running(pid)] == []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_failed_start_leaves_no_descriptor_open(monkeypatch: pytest.MonkeyPatch) -> None:
    confinement = strongest_confinement()
    monkeypatch.setenv("PATH", "/nowhere")

    def start() -> int:
        with (
            pytest.raises(BrowserMissing, match="is not installed"),
            open_browser(confinement=confinement),
        ):
            pass
        return len(list(Path("/proc/self/fd").iterdir()))

    assert start() == start()


def kill_at_frame_3(browser: Browser, done: int, _count: int) -> None:
    if done == 3:
        os.kill(browser.pid, signal.SIGKILL)


def test_a_browser_killed_during_a_film_is_replaced(tmp_path: Path) -> None:
    warm = WarmBrowser()
    killed = []

    def film() -> FilmResult:
        with warm.use("owner") as browser:
            killed.append(browser)
            report = partial(kill_at_frame_3, browser)
            # So long that it cannot end before the death is noticed.
            long = replace(ORDER, duration_ms=60_000)
            return make_film(long, browser, tmp_path / "a.mp4", limits=FILM_LIMITS, report=report)

    with pytest.raises(BrowserDied) as raised:
        film()
    assert raised.value.retryable
    assert not killed[0].is_alive
    with warm.use("owner") as browser:
        assert browser is not killed[0]
        make_film(ORDER, browser, tmp_path / "b.mp4", limits=FILM_LIMITS)
    assert len(decode_frames(tmp_path / "b.mp4")) == 10
    warm.close()


def test_a_browser_that_died_idle_is_replaced(tmp_path: Path) -> None:
    warm = WarmBrowser()
    with warm.use("owner") as browser:
        os.kill(browser.pid, signal.SIGKILL)
    browser._process.wait()
    with warm.use("owner") as another:
        assert another is not browser
        assert another.is_alive
    warm.close()
    assert not another.is_alive


def test_a_browser_is_not_shared_between_owners() -> None:
    warm = WarmBrowser()
    warm.start()
    with warm.use("one") as first:
        pass
    with warm.use("one") as same:
        pass
    with warm.use("another") as other:
        assert not first.is_alive
    assert first is same
    assert first is not other
    warm.close()


def test_a_browser_with_lowered_priority_is_replaced() -> None:
    warm = WarmBrowser()
    with warm.use("one") as slow, open_page(slow, SIZE):
        slow.slow_down()
        threads = [
            int(entry.name)
            for pid in descendants(slow.pid)
            for entry in Path(f"/proc/{pid}/task").iterdir()
        ]
        priorities = {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads}
    assert len(threads) > 20
    assert priorities == {15}
    with warm.use("one") as browser:
        assert browser is not slow
    warm.close()


async def test_film_work_restarts_when_its_browser_dies(tmp_path: Path) -> None:
    pool = FilmThreadPool(1)
    others = running_browsers()
    killed: list[int] = []
    films = []

    def report(done: int, _count: int) -> None:
        if done == 3 and not killed:
            killed.extend(running_browsers() - others)
            for pid in killed:
                # One in a sandbox ends with its sandbox.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def work(browser: Browser, alive: CheckAlive) -> None:
        alive()
        path = tmp_path / "film.mp4"
        films.append(make_film(ORDER, browser, path, limits=FILM_LIMITS, report=report))

    try:
        await pool.warm_up(1)
        await pool.run(work, owner="owner")
    finally:
        await pool.close()
    assert killed
    assert [film.plan.timeline.frame_count for film in films] == [10]
    assert len(decode_frames(tmp_path / "film.mp4")) == 10


async def test_film_work_restarts_when_chromium_loses_a_frame() -> None:
    pool = FilmThreadPool(1)
    stopped: list[int] = []

    def work(browser: Browser, _alive: CheckAlive) -> bool:
        with loaded(browser, "<p>x") as page:
            if not stopped:
                stopped.extend(processes_of_type(browser.pid, "gpu-process"))
                for pid in stopped:
                    os.kill(pid, signal.SIGSTOP)
            return page.show(0, 0, screenshot={"format": "png"}).screenshot is not None

    try:
        assert await pool.run(work, owner="owner")
    finally:
        await pool.close()
    assert stopped


async def test_an_error_in_a_damaged_browser_is_retried() -> None:
    pool = FilmThreadPool(1)
    browsers: list[Browser] = []

    def work(browser: Browser, _alive: CheckAlive) -> str:
        browsers.append(browser)
        if len(browsers) > 1:
            return "right"
        for pid in processes_of_type(browser.pid, "gpu-process"):
            os.kill(pid, signal.SIGKILL)
            while process_type(pid) is not None:
                time.sleep(0.01)
        raise PageThrew("the drawing context is lost")

    def wait_for_helpers(browser: Browser, _alive: CheckAlive) -> None:
        while not any(processes_of_type(browser.pid, "gpu-process")):
            time.sleep(0.01)

    try:
        await pool.run(wait_for_helpers, owner="owner")
        assert await pool.run(work, owner="owner") == "right"
    finally:
        await pool.close()
    assert len(browsers) == 2


@pytest.mark.parametrize(("verdict", "tries"), [(PageThrew, 1), (PageBlocked, 2)])
async def test_an_error_of_the_page_is_raised_once_it_is_confirmed(
    verdict: type[CompositionFailed], tries: int
) -> None:
    pool = FilmThreadPool(1)
    browsers: list[Browser] = []

    def work(browser: Browser, _alive: CheckAlive) -> None:
        browsers.append(browser)
        raise verdict("the page is wrong")

    try:
        with pytest.raises(verdict):
            await pool.run(work, owner="owner")
    finally:
        await pool.close()
    assert len({id(browser) for browser in browsers}) == len(browsers) == tries


async def test_cancelled_film_work_stops() -> None:
    pool = FilmThreadPool(1)
    started, asked = threading.Event(), threading.Event()

    def work(_browser: Browser, alive: CheckAlive) -> None:
        started.set()
        try:
            while True:
                alive()
                time.sleep(0.01)
        except WorkCancelled:
            asked.set()
            raise

    try:
        running = asyncio.create_task(pool.run(work, owner="owner"))
        await asyncio.to_thread(started.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        # The thread has ended before the caller goes on and clears away what it used.
        assert asked.is_set()
    finally:
        await pool.close()


def running_browsers() -> set[int]:
    found = set()
    for pid in processes_under(os.getpid()):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"--remote-debugging-pipe" in command and b"--type=" not in command:
                found.add(pid)
    return found


def test_raw_memory_shows_what_the_page_shows(browser: Browser) -> None:
    with open_page(browser, SIZE) as page:
        grabber, reason = prepare_grabber(page, decode_bgra, raw=True)
        require_raw_pixels(browser, reason)
        assert (grabber.method, reason) == (GrabMethod.RAW, None)
        load(page, "<body style='background:rgb(10,20,30)'>")
        pixels = empty()
        assert grabber.grab(0, 0, pixels)
        assert np.all(pixels == (30, 20, 10, 255))


def test_memory_of_another_page_is_detected(browser: Browser) -> None:
    with open_page(browser, SIZE) as other, open_page(browser, SIZE) as page:
        wrong = locate(other)
        load(page, "<body style='background:#f00'>")
        grabber = Grabber(page, wrong, decode_bgra)
        with pytest.raises(RawPixelsDiffer, match="differ at frame 0"):
            grabber.grab(0, 0, empty())


def test_a_later_difference_is_detected(browser: Browser) -> None:
    """Frames in between are not compared; the next check finds what went wrong."""
    with open_page(browser, SIZE) as page:
        right = locate(page)
        load(page, "<body style='background:#f00'>")
        Grabber(page, right, decode_bgra).grab(0, 0, empty())
        shifted = Grabber(
            page, replace(right, block=Block(right.block.pid, right.block.address + 2)), decode_bgra
        )
        shifted.grab(1, 100_000, empty())
        with pytest.raises(RawPixelsDiffer, match="differ at frame 329"):
            shifted.grab(329, 32_900_000, empty())


def test_missing_frame_memory_means_a_dead_browser(browser: Browser) -> None:
    with pytest.raises(BrowserDied, match="frame memory is gone"):
        Framebuffer(Block(browser.pid, 8), SIZE).read_into(empty())


def test_frame_memory_is_found_when_chromium_drops_frames(browser: Browser) -> None:
    with open_page(browser, FrameSize(320, 180)) as page, dropping_frames(7):
        assert locate(page).size == page.size


def test_a_small_page_is_captured_by_screenshots(browser: Browser) -> None:
    with open_page(browser, FrameSize(16, 16)) as page:
        with pytest.raises(FramebufferNotFound):
            locate(page)
        grabber, reason = prepare_grabber(page, decode_bgra, raw=True)
        assert grabber.method is GrabMethod.SCREENSHOT
        assert reason == "16x16 is too small to find the frame memory"


def test_a_refused_command_is_named(browser: Browser) -> None:
    with pytest.raises(ProtocolError, match=r"Nonsense\.do"):
        browser.connection.call("Nonsense.do", session=None, within_s=TIMEOUT_S)
