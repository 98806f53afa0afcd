"""Pages that try to use up the machine: each ends with an error that names the cause.

The page after it belongs to somebody else, and is right.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.capture.browser import WarmBrowser
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.errors import BrowserTimeout, PageBlocked, PageNeverSettled, PageOverLimit
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmLimits, FilmOrder
from tests.support.looks import colour_at, decode_frames
from tests.support.timeouts import FILM_LIMITS, increasing_limits

LIMITS = BrowserLimits(memory_mib=400, processes=20, threads=300, disk_mib=64)
ORDER = FilmOrder("", width_px=320, height_px=180, fps=Fraction(10), duration_ms=600_000)
GREEN = (0, 255, 1)


class LimitedBrowser:
    """A warm browser with small limits, as a worker has it; its owners follow each other."""

    def __init__(self, path: Path) -> None:
        self.warm = WarmBrowser(LIMITS)
        self.path = path
        self._owner = 0

    def film(self, order: FilmOrder, limits: FilmLimits = FILM_LIMITS) -> None:
        """Film a page of the owner whose turn it is."""
        with self.warm.use(self._owner) as browser:
            make_film(order, browser, self.path, limits=limits)

    def change_owner(self) -> None:
        self._owner += 1


@pytest.fixture(scope="module")
def shared_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LimitedBrowser]:
    limited = LimitedBrowser(tmp_path_factory.mktemp("films") / "film.mp4")
    yield limited
    limited.warm.close()


@pytest.fixture
def limited(shared_machine: LimitedBrowser) -> Iterator[LimitedBrowser]:
    """After each test, a page of another owner is filmed right; the next attack is theirs.

    So an attack finds a browser, and does not have to start one.
    """
    yield shared_machine
    shared_machine.change_owner()
    good = replace(ORDER, html="<body style='background: #0f0'>", duration_ms=300)
    shared_machine.film(good)
    colours = [colour_at(frame.rgb, 310, 170) for frame in decode_frames(shared_machine.path)]
    assert colours == [GREEN] * 3


# They go on for ever: the film of ten minutes ends because of the limit.
GREEDY = {
    "buffers": (
        "const kept = []; setInterval(() => kept.push(new Uint8Array(32 << 20).fill(1)), 1)",
        "400 MiB of memory",
    ),
    "canvases": (
        "const kept = []; setInterval(() => { const canvas = document.createElement('canvas');"
        " canvas.width = canvas.height = 4096; canvas.getContext('2d').fillRect(0, 0, 4096, 4096);"
        " kept.push(canvas) }, 1)",
        "400 MiB of memory",
    ),
    "workers": (
        "const idle = URL.createObjectURL(new Blob(['onmessage = () => {}']));"
        " setInterval(() => { for (let i = 0; i < 50; i++) new Worker(idle) }, 1)",
        "(300 threads|400 MiB of memory)",
    ),
    "windows": ("setInterval(() => open('about:blank', '', 'noopener'), 1)", "20 processes"),
    "files": (
        "navigator.storage.getDirectory().then(async (folder) => { for (let i = 0; ; i++) {"
        " const file = await folder.getFileHandle(String(i), { create: true });"
        " const sink = await file.createWritable();"
        " await sink.write(new Uint8Array(16 << 20).fill(1)); await sink.close() } })",
        "400 MiB of memory",
    ),
}


@pytest.mark.parametrize(("script", "limit"), GREEDY.values(), ids=GREEDY)
def test_a_page_over_a_limit_fails_with_its_name(
    limited: LimitedBrowser, script: str, limit: str
) -> None:
    order = replace(ORDER, html=f"<body><script>{script}</script>")
    with pytest.raises(PageOverLimit, match=f"the page used more than {limit}: ") as raised:
        limited.film(order)
    assert not raised.value.retryable


def test_a_page_with_an_endless_regular_expression_is_stopped(limited: LimitedBrowser) -> None:
    """Endless loops are in test_page_failures.py, where the next page is of the same owner."""
    script = "/^(a+)+$/.test('a'.repeat(60) + 'b')"
    order = replace(ORDER, html=f"<body><script>{script}</script>")
    for attempt in increasing_limits(PageNeverSettled, BrowserTimeout):
        with attempt as limit_s, pytest.raises(PageBlocked, match="kept its thread busy"):
            limited.film(order, FilmLimits(settle_s=limit_s, frame_s=limit_s))


def test_many_timers_only_slow_the_page(limited: LimitedBrowser) -> None:
    storm = "for (let i = 0; i < 2000; i++) setInterval(() => 0, 1)"
    order = replace(ORDER, html=f"<body><script>{storm}</script>", duration_ms=300)
    limited.film(order)
    assert len(decode_frames(limited.path)) == 3


def test_comments_before_a_page_do_not_stop_the_worker(limited: LimitedBrowser) -> None:
    order = replace(ORDER, html="<!---->" * 1000 + "<body style='background: #0f0'>")
    limited.film(replace(order, duration_ms=300))
    assert colour_at(decode_frames(limited.path)[0].rgb, 310, 170) == GREEN
