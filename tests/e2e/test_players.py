"""A real player in a real browser plays what the service makes on demand: hls.js in Chromium.

The page is of another origin and has a URL token, as pages of customers do. Every frame carries
its number, so that a frame that is missing, doubled or late is seen.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.support.browser_tab import BrowserTab, OrdinaryBrowser
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.libraries import FOLDER
from tests.support.playback import ROUTE, ClipServer
from tests.support.receiver import Answer, ReceivedRequest
from tests.support.service import POLL_S, Account

# Copied as "high"; "360p" is encoded. Segments of 1, 2, 4, 4, 4 and 4 seconds.
CLIP = Clip(
    fps=Fraction(15000, 1001),
    width=640,
    height=480,
    duration_s=Fraction(19),
    b_frames=2,
    keyframe_every=15,
)
LOOK_PX = (160, 120)
PAGE = """<!doctype html><video muted></video><script src="hls.js"></script><script>
const video = document.querySelector("video");
const loaded = [];
let hls;
const happened = (target, event) =>
  new Promise((done) => target.addEventListener(event, done, {once: true}));
function begin(manifest, token, level) {
  hls = new Hls({
    startLevel: level,
    // So far ahead it loads, however long it has time.
    maxBufferLength: 4,
    maxMaxBufferLength: 4,
    xhrSetup: (xhr) => { if (token) xhr.setRequestHeader("Authorization", `Bearer ${token}`); },
  });
  hls.on(Hls.Events.FRAG_LOADED, (_, {frag}) => {
    if (frag.type === "main" && frag.sn !== "initSegment") loaded.push(frag.sn);
  });
  return new Promise((done, fail) => {
    hls.on(Hls.Events.ERROR, (_, data) => { if (data.fatal) fail(new Error(data.details)); });
    hls.on(Hls.Events.MANIFEST_PARSED, () => {
      hls.autoLevelCapping = -1;
      hls.currentLevel = level;
      done(hls.levels.map(({attrs}) => ({...attrs})));
    });
    hls.loadSource(manifest);
    hls.attachMedia(video);
  });
}
async function playUntil(timeS) {
  await video.play();
  while (video.currentTime < timeS) await happened(video, "timeupdate");
  video.pause();
}
async function pictureAt(timeS, width, height) {
  video.pause();
  // "seeked" may come before the picture that was sought, and an earlier one in between.
  const shown = new Promise((done) => {
    const look = (_, {mediaTime}) =>
      Math.abs(mediaTime - timeS) < 0.25 ? done() : video.requestVideoFrameCallback(look);
    video.requestVideoFrameCallback(look);
  });
  video.currentTime = timeS;
  await Promise.all([happened(video, "seeked"), shown]);
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
}
</script>"""


class PageServer(ClipServer):
    """A customer's server: their page, their player, and the clip itself."""

    def _find(self, request: ReceivedRequest) -> Answer:
        if request.path == "/page.html":
            return Answer(body=PAGE.encode(), headers={"Content-Type": "text/html"})
        return super()._find(request)


@dataclass(frozen=True)
class PlayerTab:
    """A tab that has the page open, and what it needs to play the clip."""

    tab: BrowserTab
    manifest: str
    token: str | None

    def begin(self, level: int) -> list[dict[str, Any]]:
        arguments = ", ".join(json.dumps(each) for each in (self.manifest, self.token, level))
        levels: list[dict[str, Any]] = self.tab.run(f"begin({arguments})")
        return levels

    def frame_at(self, time_s: Fraction) -> int | None:
        width, height = LOOK_PX
        pixels = self.tab.run(f"pictureAt({float(time_s)!r}, {width}, {height})")
        return read_frame_code(np.array(pixels, np.uint8).reshape(height, width, 4))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    clip = make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", CLIP)
    player = FOLDER / "hls.js" / "dist" / "hls.min.js"
    with PageServer({"clip.mp4": clip, "hls.js": player}) as server:
        yield server


@pytest.fixture
def watching(
    account: Account, server: PageServer, ordinary_browser: OrdinaryBrowser
) -> Iterator[PlayerTab]:
    source = server.address("clip.mp4")
    signed = account.http.post(
        "/api/v1/url-token", json={"url": f"{account.url}{ROUTE}", "params": {"url": source}}
    )
    manifest = f"{account.url}{ROUTE}/manifest.m3u8?url={source}"
    with ordinary_browser.open_tab() as tab:
        tab.open(server.address("page.html"))
        yield PlayerTab(tab, manifest, signed.json()["token"])


@pytest.mark.spec("4.6", "5")
@pytest.mark.parametrize("level", [0, 1])
def test_a_player_shows_every_frame_at_its_time(watching: PlayerTab, level: int) -> None:
    levels = watching.begin(level)
    assert [each["RESOLUTION"] for each in levels] == ["480x360", "640x480"]
    # Over the joint of the first two segments, as fast as it goes.
    watching.tab.run("playUntil(3)")
    joint = round(2 * CLIP.fps)
    shown = [*range(5), *range(joint - 3, joint + 4), CLIP.frame_numbers[-1]]
    found = [watching.frame_at((n + Fraction(1, 2)) / CLIP.fps) for n in shown]
    assert found == shown
    heights = watching.tab.run("video.videoHeight")
    assert heights == (360, 480)[level]
    assert watching.tab.run("video.webkitAudioDecodedByteCount") > 0
    assert watching.tab.run("video.duration") == pytest.approx(float(CLIP.duration_s), abs=0.05)


@pytest.mark.spec("4.6")
def test_seeking_fetches_nothing_in_between(watching: PlayerTab) -> None:
    watching.begin(0)
    far = CLIP.frame_numbers[-20]
    assert watching.frame_at((far + Fraction(1, 2)) / CLIP.fps) == far
    loaded = watching.tab.run("loaded")
    # Of six segments; the first three are what it loads before it seeks.
    assert 4 not in loaded
    assert max(loaded) >= 5


def test_a_player_plays_a_link_but_none_that_is_changed_expired_or_revoked(
    account: Account, server: PageServer, ordinary_browser: OrdinaryBrowser
) -> None:
    manifest = f"{ROUTE}/manifest.m3u8?url={server.address('clip.mp4')}"
    made = account.http.post("/api/v1/links", json={"url": manifest}).json()
    short = account.http.post("/api/v1/links", json={"url": manifest, "expires_in_s": 1}).json()
    changed = made["url"].replace("/l/", "/l/x")
    with ordinary_browser.open_tab() as tab:
        tab.open(server.address("page.html"))
        watching = PlayerTab(tab, made["url"], None)
        watching.begin(0)
        tab.run("playUntil(1.5)")
        shown = [3, CLIP.frame_numbers[-1]]
        assert [watching.frame_at((n + Fraction(1, 2)) / CLIP.fps) for n in shown] == shown
        assert tab.run("video.webkitAudioDecodedByteCount") > 0
        tab.run("hls.destroy()")
        with pytest.raises(AssertionError, match="manifestLoadError"):
            PlayerTab(tab, changed, None).begin(0)
        while account.http.get(short["url"], headers={"Authorization": ""}).status_code != 410:
            time.sleep(POLL_S)
        with pytest.raises(AssertionError, match="manifestLoadError"):
            PlayerTab(tab, short["url"], None).begin(0)
        account.http.delete(f"/api/v1/links/{made['id']}")
        with pytest.raises(AssertionError, match="manifestLoadError"):
            watching.begin(0)


@pytest.mark.spec("4.6")
@pytest.mark.parametrize("name", ["manifest.m3u8", "manifest.mpd"])
def test_ffmpeg_reads_the_manifests(account: Account, server: PageServer, name: str) -> None:
    url = f"{account.url}{ROUTE}/{name}?url={server.address('clip.mp4')}"
    authorization = f"Authorization: Bearer {account.api_key}\r\n"
    command = ["ffprobe", "-v", "error", "-headers", authorization, "-count_packets"]
    entries = ["-select_streams", "v:0", "-show_entries", "stream=width,nb_read_packets,start_time"]
    run = subprocess.run(
        [*command, *entries, "-of", "json", url], check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    (stream,) = json.loads(run.stdout)["streams"]
    assert stream["width"] == CLIP.width
    assert float(stream["start_time"]) == 0
    assert int(stream["nb_read_packets"]) == len(CLIP.frame_numbers)
