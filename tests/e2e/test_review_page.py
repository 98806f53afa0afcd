"""A reviewer in a real browser: frames by number, boxes by mouse and keyboard, and the decision.

The reviewer has a link and no account. What the page approves is what the service stores, and what
the render hides.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.client.client import Client
from tests.support.browser_tab import BrowserTab, OrdinaryBrowser
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.service import Account, Service
from tests.support.studio_tab import StudioTab, check_page
from tests.support.timeouts import TIMEOUT_S, growing_pauses

CLIP = Clip(fps=Fraction(30000, 1001), duration_s=Fraction(2), variable_rate=True, b_frames=2)
NUMBERS = CLIP.frame_numbers
LAST = len(NUMBERS) - 1
DEFINITION = {
    "steps": {
        "look": {"type": "probe", "needs": []},
        "check": {"type": "review", "needs": ["look"], "with": {"instructions": "Hide the code."}},
        "hide": {"type": "redact_render", "needs": ["check"], "with": {"kinds": ["code", "voice"]}},
    }
}
PIXELS = """(() => {
  const image = document.querySelector("PICTURE");
  const {naturalWidth = image.width, naturalHeight = image.height} = image;
  const canvas = new OffscreenCanvas(naturalWidth, naturalHeight);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
  // Ten times as fast as a list of numbers.
  return btoa(Array.from(data, (each) => String.fromCharCode(each)).join(""));
})()"""
BOX = """(() => {
  const overlay = document.querySelector(".review-boxes");
  const {left, top, width, height} = overlay.getBoundingClientRect();
  return [left, top, width, height];
})()"""
SHOWN = """[...document.querySelectorAll(".review-box > rect:first-child")].map((each) =>
  ["x", "y", "width", "height"].map((name) => Number(each.getAttribute(name))))"""
DRAFT = "Object.entries(localStorage).find(([key]) => key.startsWith('framekiln.draft.review'))"
MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}
KEY_CODES = {
    "Enter": 13,
    "Escape": 27,
    "Delete": 46,
    "Home": 36,
    "End": 35,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


@dataclass(frozen=True)
class ReviewTab:
    """The page of a task."""

    tab: BrowserTab
    errors: list[str]

    def wait(self, condition: str) -> Any:
        try:
            return wait_for(lambda: self.tab.run(condition), condition)
        except AssertionError as error:
            error.add_note(f"the page is {self.tab.run('document.body.innerText')}")
            raise

    def key(self, key: str, *modifiers: str) -> None:
        pressed = sum(MODIFIERS[each] for each in modifiers)
        code = KEY_CODES.get(key, 0)
        # Without its text Enter presses no button.
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.tab.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                modifiers=pressed,
                windowsVirtualKeyCode=code,
                **text,
            )

    def drag(self, *places: tuple[float, float]) -> None:
        """Drag the mouse over places in fractions of the picture."""
        left, top, width, height = self.tab.run(BOX)
        kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1), "mouseReleased"]
        for kind, (x, y) in zip(kinds, [*places, places[-1]], strict=True):
            self.tab.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=left + x * width,
                y=top + y * height,
                button="left",
                buttons=1,
                clickCount=1,
            )

    def click(self, text: str) -> None:
        found = (
            "[...document.querySelectorAll('button, summary')]"
            f".find((each) => each.textContent.trim() === {json.dumps(text)})"
        )
        self.wait(f"!!{found} && !{found}.disabled")
        self.tab.run(f"{found}.click()")

    def wait_frame(self, number: int) -> None:
        self.wait(f"document.querySelector('img.review-picture')?.dataset.frame === '{number}'")
        self.wait("document.querySelector('img.review-picture').complete")

    def frame_code(self) -> int | None:
        return read_frame_code(self.pixels("img.review-picture"))

    def pixels(self, picture: str) -> Any:
        """Return red, green and blue of a picture or canvas of the page."""
        found = base64.b64decode(self.tab.run(PIXELS.replace("PICTURE", picture)))
        return np.frombuffer(found, np.uint8).reshape(CLIP.height, CLIP.width, 4)[..., :3]

    def boxes(self) -> list[Any]:
        """Return left, top, width and height of all boxes in fractions of the picture."""
        size = np.array([CLIP.width, CLIP.height] * 2)
        return [list(np.array(each) / size) for each in self.tab.run(SHOWN)]

    def wait_box(self, *sides: float) -> None:
        """Wait for the only box to be here: the page draws after the event that moves it."""
        expected = [pytest.approx(list(sides), abs=0.01)]
        wait_for(lambda: self.boxes() == expected, f"the box is not at {sides}")


def wait_for(ask: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + TIMEOUT_S
    pauses = growing_pauses()
    while not (found := ask()):
        assert time.monotonic() < deadline, what
        time.sleep(next(pauses))
    return found


@dataclass(frozen=True)
class Films:
    """The film before and after the redaction."""

    source: Path
    redacted: Path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)


@pytest.fixture(scope="module")
def file_id(account: Account, clip: Path) -> str:
    with Client(account.url, account.api_key) as client:
        return str(client.files.upload(clip).id)


@pytest.fixture
def task(account: Account, file_id: str) -> Any:
    """A task that waits for its decision."""
    name = f"review {time.monotonic_ns()}"
    body = {"name": name, "definition": DEFINITION}
    pipeline = account.http.post("/api/v1/pipelines", json=body).json()
    body = {"pipeline_id": pipeline["id"], "file_id": file_id}
    run = account.http.post("/api/v1/pipeline-runs", json=body).json()
    query = {"run_id": run["id"]}
    return wait_for(
        lambda: account.http.get("/api/v1/pipeline-reviews", params=query).json()["reviews"],
        "no task was opened",
    )[0]


@pytest.fixture(scope="module")
def browser(ordinary_browser: OrdinaryBrowser) -> Iterator[ReviewTab]:
    with ordinary_browser.open_tab() as tab:
        errors: list[str] = []
        tab.listen("Runtime.exceptionThrown", lambda event: errors.append(json.dumps(event)))
        yield ReviewTab(tab, errors)


@pytest.fixture
def page(account: Account, task: Any, browser: ReviewTab) -> Iterator[ReviewTab]:
    """The page of the task, opened with a link."""
    made = account.http.post(f"/api/v1/pipeline-reviews/{task['id']}/links", json={})
    browser.tab.call(
        "Emulation.setDeviceMetricsOverride",
        width=1440,
        height=1000,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.tab.open("about:blank")
    browser.tab.open(made.json()["url"])
    browser.wait_frame(0)
    yield browser
    assert browser.errors == []


def stored(account: Account, task: Any) -> Any:
    return account.http.get(f"/api/v1/pipeline-reviews/{task['id']}").json()


def test_what_a_reviewer_draws_is_stored_and_hidden(
    account: Account, task: Any, page: ReviewTab, *, clip: Path, tmp_path: Path
) -> None:
    assert "link=" not in page.tab.run("location.href")
    # Frames by number, the last one too.
    assert page.frame_code() == NUMBERS[0]
    page.key("End")
    page.wait_frame(LAST)
    assert page.frame_code() == NUMBERS[LAST]
    page.key("Home")
    for number in (1, 2):
        page.key(".")
        page.wait_frame(number)
        assert page.frame_code() == NUMBERS[number]

    # A box is drawn, moved, resized and gets a second keyframe.
    page.drag((0.2, 0.2), (0.3, 0.3), (0.4, 0.4))
    page.wait("document.querySelectorAll('.review-box.selected.keyframe').length === 1")
    page.wait_box(0.2, 0.2, 0.2, 0.2)
    page.drag((0.3, 0.3), (0.35, 0.35), (0.5, 0.4))
    page.wait_box(0.4, 0.3, 0.2, 0.2)
    page.drag((0.6, 0.5), (0.65, 0.55), (0.7, 0.6))
    page.wait_box(0.4, 0.3, 0.3, 0.3)
    for _ in range(8):
        page.key(".")
    page.wait_frame(10)
    page.wait("!document.querySelector('.review-box.keyframe')")
    page.key("ArrowRight", "Shift")
    page.wait("document.querySelectorAll('.review-diamond').length === 2")
    [far] = page.boxes()
    assert far[0] == pytest.approx(0.4 + 10 / CLIP.width, abs=0.01)
    for key, number in (("PageUp", 2), ("PageDown", 10)):
        page.key(key)
        page.wait_frame(number)
    # Between them it is interpolated.
    for _ in range(4):
        page.key(",")
    page.wait_frame(6)
    [between] = page.boxes()
    assert 0.4 < between[0] < far[0]

    # A second box comes and goes; all of that survives a reload.
    page.key("n")
    page.wait("document.querySelectorAll('.review-box').length === 2")
    page.key("z", "Control")
    page.wait("document.querySelectorAll('.review-box').length === 1")
    page.key("z", "Control", "Shift")
    # One after the other, so that the last draft is not an earlier one with one box.
    page.wait(f"JSON.parse(({DRAFT})?.[1] || '[]').length === 2")
    page.key("z", "Control")
    page.wait(f"JSON.parse(({DRAFT})?.[1] || '[]').length === 1")
    page.tab.open(page.tab.run("location.href"))
    page.wait_frame(0)
    page.wait("document.querySelectorAll('.review-diamond').length === 2")

    # Everything is reached with Tab, and the preview shows what the render will.
    studio = StudioTab(page.tab, account.url)
    page.key("b")
    check_page(studio)
    page.tab.run("document.activeElement.blur()")
    for _ in range(6):
        page.key(".")
    page.wait_frame(6)
    page.key("p")
    page.wait("document.querySelector('canvas.review-picture')?.width > 0")
    page.key(",")
    page.wait_frame(5)
    preview = page.pixels("canvas.review-picture")

    # A key asks before it decides.
    page.key("a")
    page.wait("document.querySelector('dialog[open]')?.ariaLabel === 'Approve with corrections'")
    page.key("Escape")
    page.wait("!document.querySelector('dialog[open]')")
    assert stored(account, task)["status"] == "pending"
    page.key("a")
    page.wait("document.activeElement?.matches('dialog[open] .yes')")
    page.key("Enter")
    page.wait("document.body.innerText.includes('approved')")
    decided = stored(account, task)
    assert decided["decision"]["decided_by"]["type"] == "link"
    [annotation] = decided["metadata_patch"]["annotations"]
    assert annotation["kind"] == "code"
    first, second = annotation["keyframes"]
    assert [first[side] for side in "xywh"] == pytest.approx([0.4, 0.3, 0.3, 0.3], abs=0.01)
    assert second["x"] == pytest.approx(first["x"] + 10 / CLIP.width, abs=0.001)
    times_ms = [float(NUMBERS[number] / CLIP.fps * 1000) for number in (2, 10)]
    assert [first["t_ms"], second["t_ms"]] == pytest.approx(times_ms, abs=0.002)
    # The film is closed to the link now.
    page.wait("!document.querySelector('img.review-picture')")
    films = Films(clip, tmp_path / "redacted.mp4")
    check_hidden(account, decided, first, films)
    rendered = decode_frames(films.redacted)[5].rgb.astype(int)
    # Both are encoded again, with loss.
    near = np.abs(rendered - preview).mean()
    far = np.abs(rendered - decode_frames(clip)[5].rgb).mean()
    assert near < far / 2, (near, far)


def check_hidden(account: Account, decided: Any, box: Any, films: Films) -> None:
    """The box is hidden in the frames in which the reviewer saw it, and in no other."""

    def made() -> Any:
        run = account.http.get(f"/api/v1/pipeline-runs/{decided['run_id']}").json()
        assert run["status"] != "failed", run
        return run["status"] == "succeeded"

    wait_for(made, "the run has not ended")
    path = f"/api/v1/pipeline-runs/{decided['run_id']}/outputs/hide"
    [output] = account.http.get(path).json()["outputs"]
    films.redacted.write_bytes(account.http.get(output["output"]["metadata"]["output_url"]).content)
    down = slice(*(int(CLIP.height * (box["y"] + part * box["h"])) for part in (0.1, 0.9)))
    across = slice(*(int(CLIP.width * (box["x"] + part * box["w"])) for part in (0.1, 0.9)))
    frames = [decode_frames(each) for each in (films.source, films.redacted)]
    changes = [
        float(np.abs(was.rgb[down, across].astype(int) - is_now.rgb[down, across]).mean())
        for was, is_now in zip(*frames, strict=True)
    ]
    # It is there for a second, and half a frame more at either end is hidden.
    last = max(at for at, number in enumerate(NUMBERS) if number <= NUMBERS[2] + CLIP.fps)
    shown, others = changes[2 : last + 1], [*changes[:1], *changes[last + 2 :]]
    assert min(shown) > 2 * max(others), changes


def test_a_link_of_another_organization_logs_nobody_out_without_asking(
    account: Account, task: Any, browser: ReviewTab, shared_service: Service
) -> None:
    made = account.http.post(f"/api/v1/pipeline-reviews/{task['id']}/links", json={})
    logged_in = "(document.querySelector('nav .who') !== null)"
    browser.tab.open("about:blank")
    browser.tab.open(made.json()["url"])
    browser.wait_frame(0)
    # A review link in the same browser hid the page that logs in.
    with shared_service.open_account("logged in elsewhere") as other:
        browser.tab.open("about:blank")
        browser.tab.open(other.login_link())
        browser.wait(logged_in)
        for answer in ("Stay logged in", "Log out and open the link"):
            browser.tab.open("about:blank")
            browser.tab.open(made.json()["url"])
            browser.wait("document.body.innerText.includes('Open the review link?')")
            browser.click(answer)
            if answer == "Stay logged in":
                browser.wait(logged_in)
        browser.wait_frame(0)
        assert browser.tab.run(f"!{logged_in}")
    assert browser.errors == []


@pytest.mark.parametrize("opener", ["link", "user"])
def test_a_decision_that_comes_too_late_shows_the_one_that_was_made(
    account: Account, task: Any, ordinary_browser: OrdinaryBrowser, *, opener: str
) -> None:
    """Somebody approves it in another tab meanwhile."""
    with ordinary_browser.open_tab() as tab:
        studio = StudioTab(tab, account.url)
        if opener == "user":
            studio.open(account.login_link())
            studio.wait_text("Log out")
            studio.open(f"/studio/reviews/{task['id']}")
        else:
            made = account.http.post(f"/api/v1/pipeline-reviews/{task['id']}/links", json={})
            studio.open(made.json()["url"])
        studio.wait("!!document.querySelector('img.review-picture')")
        assert studio.run("document.querySelector('h1').innerText") == "Review of clip.mp4"
        if opener == "user":
            # It has the menu as well.
            check_page(studio)
        studio.press("n")
        studio.wait("document.querySelectorAll('.review-box').length === 1")
        path = f"/api/v1/pipeline-reviews/{task['id']}/approve"
        assert account.http.post(path, json={}).status_code == 200
        studio.click("Approve with corrections")
        studio.wait_text("What you have changed here is not part of the decision.")
        studio.wait("!__find('button', 'Approve')")
        if opener == "user":
            studio.wait("!document.querySelector('.review-box')")
            assert "api key" in studio.run("document.querySelector('[role=status]').innerText")
        assert studio.errors == []
    assert stored(account, task)["metadata_patch"] is None


def test_a_frame_is_found_by_its_number_and_a_preview_has_no_tint(page: ReviewTab) -> None:
    number = "document.querySelector('[aria-label=\"Frame number\"]')"
    for typed, shown in (("20", 20), ("99999", LAST), ("", LAST), ("7", 7)):
        page.tab.run(f"{number}.select()")
        page.tab.call("Input.insertText", text=typed)
        if typed == "":
            page.tab.call("Input.dispatchKeyEvent", type="keyDown", commands=["delete"])
        page.key("Enter")
        page.wait_frame(shown)
        assert page.tab.run(f"{number}.value") == str(shown)
    # The keys of the page work again.
    page.key(".")
    page.wait_frame(8)
    page.key("n")
    page.wait("!!document.querySelector('.review-box.selected')")
    fill = "getComputedStyle(document.querySelector('.review-box > rect')).fill"
    assert page.tab.run(fill) != "rgba(0, 0, 0, 0)"
    page.key("p")
    page.wait(f"{fill} === 'rgba(0, 0, 0, 0)'")
    button = "[...document.querySelectorAll('button')].find((it) => it.innerText === 'Preview')"
    colour = f"getComputedStyle({button}).backgroundColor"
    pressed = page.tab.run(colour)
    page.key("p")
    page.wait(f"{fill} !== 'rgba(0, 0, 0, 0)'")
    assert page.tab.run(colour) != pressed


def test_a_rejection_has_its_reason_and_a_wrong_box_the_message_of_the_service(
    account: Account, task: Any, page: ReviewTab
) -> None:
    page.key("n")
    page.wait("!!document.querySelector('#review-kind')")
    page.tab.run(
        "(() => { const field = document.querySelector('#review-kind');"
        " field.value = 'x'.repeat(129); field.dispatchEvent(new Event('change')); })()"
    )
    page.click("Approve with corrections")
    page.wait("document.querySelector('[role=alert]')?.innerText.includes('kind')")
    assert stored(account, task)["status"] == "pending"
    page.tab.run("document.activeElement.blur()")
    page.key("r")
    page.wait("document.activeElement?.matches('dialog[open] textarea')")
    page.tab.call("Input.insertText", text="The film is blurred.")
    page.key("Enter", "Control")
    page.wait("document.body.innerText.includes('The film is blurred.')")
    assert stored(account, task)["decision"]["reason"] == "The film is blurred."
