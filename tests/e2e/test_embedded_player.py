"""The player on a page of another origin: it plays signed links, and needs no key."""

import json
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.client.client import Client
from tests.support.browser_tab import BrowserTab, OrdinaryBrowser
from tests.support.clips import Clip, make_clip
from tests.support.receiver import Answer, ReceivedRequest, Receiver
from tests.support.service import Account
from tests.support.studio_tab import StudioTab
from tests.support.timeouts import TIMEOUT_S

CLIP = Clip(duration_s=Fraction(3))
PLAYER = "document.querySelector('framekiln-player')"
SHADOW = f"{PLAYER}.shadowRoot"
CAPTIONS = "WEBVTT\n\n00:00.000 --> 00:03.000\nHello\n"


class PlayerPage(Receiver):
    """A customer's page, at another origin than the service, and its captions."""

    def __init__(self, script: str) -> None:
        super().__init__()
        self.attributes: dict[str, str] = {}
        self._script = script
        self.answer_by(self._find)

    def address(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def _find(self, request: ReceivedRequest) -> Answer:
        if request.path == "/captions.vtt":
            headers = {"Content-Type": "text/vtt", "Access-Control-Allow-Origin": "*"}
            return Answer(body=CAPTIONS.encode(), headers=headers)
        if request.path != "/page.html":
            return Answer(404)
        attributes = " ".join(f'{name}="{value}"' for name, value in self.attributes.items())
        html = (
            '<!doctype html><html lang="en"><title>A page</title>'
            f'<script type="module" src="{self._script}"></script>'
            # Small enough that all of it is in the window.
            f'<framekiln-player {attributes} style="width: 360px"></framekiln-player>'
        )
        return Answer(body=html.encode(), headers={"Content-Type": "text/html"})


@pytest.fixture(scope="module")
def links(account: Account, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Signed links to a file, its stream, its thumbnails and its waveform."""
    clip: Path = make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)
    with Client(account.url, account.api_key) as client:
        file_id = client.files.upload(clip).id
    path = f"/api/v1/files/{file_id}"
    deadline = time.monotonic() + TIMEOUT_S
    while account.http.get(path).json()["status"] != "ready":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    addresses = {
        "content": f"{path}/content",
        "stream": f"/api/v1/transcode/manifest.m3u8?url={account.url}{path}",
        "thumbnails": f"{path}/thumbnails.jpg",
        "waveform": f"{path}/waveform.json",
    }
    return {
        name: account.http.post("/api/v1/links", json={"url": url}).json()["url"]
        for name, url in addresses.items()
    }


@pytest.fixture(scope="module")
def page(account: Account) -> Iterator[PlayerPage]:
    with PlayerPage(f"{account.url}/studio/player.js") as page:
        yield page


@pytest.fixture(scope="module")
def tab(ordinary_browser: OrdinaryBrowser) -> Iterator[BrowserTab]:
    with ordinary_browser.open_tab() as tab:
        yield tab


def wait(tab: BrowserTab, condition: str) -> Any:
    deadline = time.monotonic() + TIMEOUT_S
    while not (found := tab.run(condition)):
        assert time.monotonic() < deadline, condition + str(tab.run(f"{SHADOW}?.innerHTML"))
        time.sleep(0.1)
    return found


def test_a_film_has_captions_thumbnails_waveform_and_keys(
    page: PlayerPage, tab: BrowserTab, links: dict[str, str]
) -> None:
    page.attributes = {
        "src": links["content"],
        "thumbnails": links["thumbnails"],
        "waveform": links["waveform"],
        "captions": page.address("captions.vtt"),
        "label": "A clip",
    }
    tab.open(page.address("page.html"))
    wait(tab, f"{PLAYER}?.video?.readyState >= 2")
    assert tab.run(f"{PLAYER}.video.videoWidth") == CLIP.width
    assert tab.run(f"{PLAYER}.getAttribute('aria-label')") == "A clip"
    wait(tab, f"!{SHADOW}.querySelector('.wave').hidden")
    press(tab, "End")
    wait(tab, f"!{PLAYER}.video.seeking && {PLAYER}.video.currentTime > 2.9")
    press(tab, "Home")
    wait(tab, f"!{PLAYER}.video.seeking && {PLAYER}.video.currentTime === 0")
    press(tab, "k")
    wait(tab, f"!{PLAYER}.video.paused && {PLAYER}.video.currentTime > 0.1")
    assert tab.run(f"{SHADOW}.querySelector('.play').ariaLabel") == "Pause"
    press(tab, "k")
    press(tab, "c")
    wait(tab, f"{PLAYER}.video.textTracks[0].activeCues?.[0]?.text === 'Hello'")
    assert tab.run(f"{SHADOW}.querySelector('.captions').ariaPressed") == "true"
    # A thumbnail is shown above the pointer.
    left, top, width, height = tab.run(
        f"(() => {{ const {{x, y, width, height}} = {SHADOW}.querySelector('.seek')"
        ".getBoundingClientRect(); return [x, y, width, height]; })()"
    )
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width / 2, y=top + height / 2)
    wait(tab, f"!{SHADOW}.querySelector('.preview').hidden")
    wait(tab, f"!{SHADOW}.querySelector('.preview canvas').hidden")
    pixels = tab.run(
        f"(({{width, height}}) => [width, height])({SHADOW}.querySelector('.preview canvas'))"
    )
    assert pixels == [160, 160 * CLIP.height // CLIP.width]
    studio = StudioTab(tab, "")
    for width, is_dark in ((1440, False), (390, True)):
        studio.show_as(width=width, is_dark=is_dark)
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
        assert studio.accessibility_problems() == []


def test_a_stream_is_played_with_hls(
    page: PlayerPage, tab: BrowserTab, links: dict[str, str]
) -> None:
    page.attributes = {"src": links["stream"]}
    tab.open("about:blank")
    tab.open(page.address("page.html"))
    wait(tab, f"{PLAYER}?.video?.readyState >= 2")
    assert tab.run(f"{PLAYER}.video.src.startsWith('blob:')")
    press(tab, "k")
    wait(tab, f"{PLAYER}.video.currentTime > 0.5")


def test_a_link_that_does_not_work_shows_a_message(page: PlayerPage, tab: BrowserTab) -> None:
    page.attributes = {"src": page.address("nothing.mp4")}
    tab.open("about:blank")
    tab.open(page.address("page.html"))
    wait(tab, f"{SHADOW}?.querySelector('.failure').innerText.includes('could not be loaded')")
    assert tab.run(f"{PLAYER}.ariaLabel") == "Video"
    # Keys of a film without a length do nothing.
    tab.run("addEventListener('error', ({message}) => { window.__thrown = message; })")
    press(tab, "ArrowRight")
    press(tab, "End")
    assert tab.run("window.__thrown") is None


def press(tab: BrowserTab, key: str) -> None:
    """Press a key in the player."""
    event = f"new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}})"
    tab.run(f"{PLAYER}.dispatchEvent({event})")
