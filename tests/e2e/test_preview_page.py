"""`framekiln preview` as people use it: the command, and its page in an ordinary browser."""

import json
import os
import signal
import subprocess
import sys
import time
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e.conftest import IN_THIS_PROCESS, processes_under
from tests.support.browser_tab import BrowserTab, open_tab
from tests.support.looks import decode_frames
from tests.support.studio_tab import StudioTab, check_page
from tests.support.timeouts import TIMEOUT_S

FPS = 10
DURATION_S = 2
RATE_HZ = 48_000
# Frame n has the red n * 10; the data decide the blue.
PAGE = """<!doctype html><html data-width=320 data-height=180 data-fps=10 data-duration-ms=2000>
<body style="margin:0"><audio src="ramp.wav" autoplay></audio><script>
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
# What goes to the loudspeaker, and the frame that the picture has then: asked whenever the page has
# done its work for a frame. A machine that stops between both makes no sample.
TAP = """(() => {
  const [connect, request] = [AudioNode.prototype.connect, window.requestAnimationFrame];
  const last = new Float32Array(32);
  let tap = null;
  window.__heard = [];
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to instanceof AudioDestinationNode) {
      tap = new AnalyserNode(this.context, {fftSize: last.length});
      connect.call(this, tap);
    }
    return connect.call(this, to, ...rest);
  };
  window.requestAnimationFrame = (work) => request((now) => {
    const before = tap?.context.currentTime;
    work(now);
    tap?.getFloatTimeDomainData(last);
    if (tap === null || tap.context.currentTime - before > 0.02) return;
    const frame = Number(document.querySelector(".picture canvas")?.dataset.frame ?? -1);
    __heard.push([last.at(-1), tap.context.outputLatency, frame]);
  });
})()"""


def write_film(folder: Path) -> Path:
    """Write the page and its sound; each sample tells its instant, and none of them is silence."""
    instants_s = np.arange(RATE_HZ * DURATION_S) / RATE_HZ
    samples = (value_at(instants_s) * 32767).astype("<i2")
    with wave.open(str(folder / "ramp.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(np.repeat(samples, 2).tobytes())
    path = folder / "film.html"
    path.write_text(PAGE % 0)
    return path


def value_at(instants_s: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.1 + 0.7 * instants_s / DURATION_S


def instants_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return (values - 0.1) * DURATION_S / 0.7


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
    file = write_film(tmp_path_factory.mktemp("preview"))
    process, url = start(file, "--data", '{"blue": 0}')
    try:
        with open_tab() as tab:
            tab.look_like(1440, 900, "light")
            tab.call("Page.enable")
            tab.call("Page.addScriptToEvaluateOnNewDocument", source=TAP)
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


def heard_with_frames(page: PreviewPage, first: int, last: int) -> None:
    """Whenever a part was heard, the picture was that of the sound: off by half a frame at most."""
    samples = np.array(page.tab.run("__heard.splice(0)")).reshape(-1, 3)
    values, latencies_s, frames = samples[samples[:, 0] > 0.05].T
    left = FPS * instants_of(values)
    assert len({*frames}) > (last - first) / 2
    assert left.min() > first - 0.1
    assert left.max() < last + 1.1
    # It is heard when it has passed the loudspeaker; until then the first frame stays.
    heard = np.maximum(left - FPS * latencies_s, first)
    offsets = heard - frames
    assert offsets.min() > -0.5
    assert offsets.max() < 1.5


IS_PAUSED = 'document.querySelector(".play").innerText === "Play"'


def test_space_plays_to_the_end_with_the_sound_of_each_frame(page: PreviewPage) -> None:
    # Else the film may have ended when its sound is there.
    page.tab.run(
        "fetch('/composition').then((answer) => answer.json())"
        ".then(({version}) => fetch(`/sound/${version}`)).then((answer) => answer.blob())"
    )
    page.tab.press("Home")
    page.tab.press(" ")
    page.wait_for_frame(19)
    page.wait(IS_PAUSED)
    heard_with_frames(page, 0, 19)


def test_the_sound_follows_jumps_and_loops(page: PreviewPage) -> None:
    page.tab.press("Home")
    page.tab.press("ArrowRight", shift=True)
    page.tab.press(" ")
    page.wait_for_frame(19)
    page.wait(IS_PAUSED)
    heard_with_frames(page, 10, 19)
    # The part from frame 5 to frame 10, again and again.
    page.tab.press("Home")
    page.tab.press("ArrowRight", shift=True)
    page.tab.press("o")
    for _ in range(5):
        page.tab.press("ArrowLeft")
    page.tab.press("i")
    page.tab.press(" ")
    page.wait("__heard.filter(([, , frame], at) => frame < (__heard[at - 1]?.[2] ?? 0)).length > 2")
    page.tab.press(" ")
    page.tab.press("l")
    heard_with_frames(page, 5, 10)


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
    assert studio.errors == []


def test_killed_it_leaves_no_browser(page: PreviewPage) -> None:
    """The last of these tests: the preview of the others ends with it."""
    page.wait('document.querySelector(".picture canvas")?.dataset.frame')
    children = processes_under(page.process.pid)
    assert children
    page.process.kill()
    page.process.wait()
    deadline = time.monotonic() + TIMEOUT_S
    while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
