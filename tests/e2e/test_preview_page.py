"""`framekiln preview` as people use it: the command, and its page in an ordinary browser."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import IN_THIS_PROCESS, processes_under
from tests.support.browser_tab import BrowserTab, open_tab
from tests.support.looks import decode_frames
from tests.support.studio_tab import StudioTab, check_page
from tests.support.timeouts import TIMEOUT_S

# Frame n has the red n * 10; the data decide the blue.
PAGE = """<!doctype html><html data-width=320 data-height=180 data-fps=10 data-duration-ms=2000>
<body style="margin:0"><script>
let shown = 0;
const draw = () => {
  document.body.style.background = `rgb(${10 * shown++}, %s, ${EF_RENDER_DATA.blue})`;
  requestAnimationFrame(draw);
};
requestAnimationFrame(draw);
</script>"""
# A test run that was started in the background passes on that Ctrl-C is to be ignored.
AS_IN_A_TERMINAL = ("env", "--default-signal=INT")
PIXEL = """(() => { const canvas = document.querySelector(".picture canvas");
return [...canvas.getContext("2d").getImageData(160, 90, 1, 1).data].slice(0, 3); })()"""


@dataclass
class PreviewPage:
    """The running command, and its page."""

    tab: BrowserTab
    file: Path
    process: subprocess.Popen[str]

    def wait(self, expression: str) -> Any:
        """Return the value of an expression of the page, once it is neither false nor empty."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            if value := self.tab.run(expression):
                return value
            time.sleep(0.05)
        raise AssertionError(f"never: {expression}; the page is {self.tab.run(_TEXT)}")

    def wait_for_frame(self, number: int) -> None:
        """Wait until the picture is that of a frame."""
        self.wait(f'document.querySelector(".picture canvas")?.dataset.frame === "{number}"')

    def colour(self) -> list[int]:
        """Return the colour in the middle of the picture, which is a JPEG."""
        found: list[int] = self.tab.run(PIXEL)
        return found

    def click(self, text: str) -> None:
        """Click the button with that text."""
        buttons = '[...document.querySelectorAll("button")]'
        find = f"{buttons}.find((each) => each.innerText === {json.dumps(text)})"
        self.wait(f"!!{find}")
        self.tab.run(f"{find}.click()")


_TEXT = "document.body.innerText"


def is_near(found: list[int], expected: tuple[int, int, int]) -> bool:
    return all(abs(a - b) <= 4 for a, b in zip(found, expected, strict=True))


def start(*arguments: object) -> tuple[subprocess.Popen[str], str]:
    """Start the command and return its address."""
    command = [*AS_IN_A_TERMINAL, sys.executable, "-m", "framekiln", "preview", "--no-open"]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **IN_THIS_PROCESS},
    )
    assert process.stderr is not None
    # Lines of the log may come first.
    line = next(each for each in process.stderr if "http://127.0.0.1:" in each)
    return process, line.split()[1]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreviewPage]:
    file = tmp_path_factory.mktemp("preview") / "film.html"
    file.write_text(PAGE % 0)
    process, url = start(file, "--data", '{"blue": 0}')
    try:
        with open_tab() as tab:
            tab.look_like(1440, 900, "light")
            tab.open(url)
            yield PreviewPage(tab, file, process)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)


def test_keys_step_and_go_to_the_ends(page: PreviewPage) -> None:
    page.wait_for_frame(0)
    for key, shift, frame in (
        ("ArrowRight", False, 1),
        ("ArrowRight", True, 11),
        ("ArrowLeft", False, 10),
        ("End", False, 19),
        ("Home", False, 0),
    ):
        page.tab.press(key, shift=shift)
        page.wait_for_frame(frame)
        assert is_near(page.colour(), (10 * frame, 0, 0))


def test_space_plays_to_the_end(page: PreviewPage) -> None:
    page.tab.press("Home")
    page.tab.press(" ")
    page.wait_for_frame(19)
    page.wait('document.querySelector(".play").innerText === "Play"')


def test_an_edit_keeps_the_position_and_an_error_lies_over_the_picture(page: PreviewPage) -> None:
    page.tab.press("Home")
    for _ in range(4):
        page.tab.press("ArrowRight")
    page.wait_for_frame(4)
    page.file.write_text(PAGE.replace("let shown", "\nlett shown") % 0)
    problem = page.wait('document.querySelector(".problem")?.innerText')
    assert "film.html:4" in problem
    assert is_near(page.colour(), (40, 0, 0))
    page.file.write_text(PAGE % 200)
    page.wait('document.querySelector(".problem") === null')
    deadline = time.monotonic() + TIMEOUT_S
    while not is_near(page.colour(), (40, 200, 0)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_near(page.colour(), (40, 200, 0))


def test_data_typed_as_soon_as_the_form_is_there_are_shown(page: PreviewPage) -> None:
    page.tab.run(
        """new MutationObserver((_, observer) => {
            const input = document.querySelector("input[type=number]");
            if (input === null) return;
            observer.disconnect();
            input.value = "200";
            input.dispatchEvent(new Event("input", {bubbles: true}));
        }).observe(document.body, {childList: true, subtree: true})"""
    )
    page.click("Data")
    page.click("Apply")
    page.wait(f"({PIXEL})[2] > 190")


def test_a_film_is_rendered_beside_the_preview(page: PreviewPage) -> None:
    page.click("Render")
    page.wait('document.querySelectorAll(".panel select").length === 2')
    page.tab.run('[...document.querySelectorAll(".panel button")][0].click()')
    page.wait('document.querySelector(".film-card .status")?.innerText === "complete"')
    page.wait('document.querySelector(".film-card video").readyState >= 1')
    assert len(decode_frames(page.file.with_name("film.mp4"))) == 20


def test_the_page_reports_no_errors(page: PreviewPage) -> None:
    assert page.tab.said == []


def test_the_page_fits_and_is_accessible(page: PreviewPage) -> None:
    studio = StudioTab(page.tab, "")
    check_page(studio)
    assert studio.unreachable_by_tab() == []
    assert studio.errors == []


def test_killed_it_leaves_no_browser(tmp_path: Path) -> None:
    (tmp_path / "film.html").write_text(PAGE % 0)
    process, url = start(tmp_path / "film.html", "--data", '{"blue": 0}')
    with process:
        deadline = time.monotonic() + TIMEOUT_S
        while not (children := processes_under(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert children
        process.kill()
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert url.startswith("http://127.0.0.1:")
