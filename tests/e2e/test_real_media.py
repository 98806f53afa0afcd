"""Media that nobody here made: split into tracks, checked packet by packet, played by a browser."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.errors import UnreadableMedia
from framekiln.media.tracks.split import ProcessedVideo, process_video, track_path
from tests.support.browser_tab import BrowserTab, open_tab
from tests.support.libraries import FOLDER
from tests.support.looks import psnr
from tests.support.playback import ClipServer

MEDIA = Path(__file__).parents[1] / "support" / "media"
BUNNY = Path(__file__).parents[2] / "examples/media/bunny.mp4"
# Which tracks each becomes, and whether its packets are kept.
TRACKS = {
    "one-second-1080p.mp4": [("video", True), ("audio", True)],
    "carphone.mp4": [("video", True)],
    "two-aac-frames.mp4": [("audio", True)],
    "two-vorbis-tracks.mp4": [("audio", False), ("audio", False)],
    "he-aac-v2.aac": [("audio", False)],
}
BROKEN = {
    "cut-off.mkv": "not readable as video or sound",
    "cut-off.flv": "another kind of file",
    "cover-cut-off.mp3": "not readable as video or sound",
    "header-alone.mp4": "has no tracks",
}
LENA = ("aac", "flac", "m4a", "mp3", "ogg", "opus", "wav", "webm")
PAGE = """<!doctype html><video muted></video><script>
const video = document.querySelector("video");
async function bytes(name) { return new Uint8Array(await (await fetch(name)).arrayBuffer()); }
const happened = (what, name) => new Promise((done, fail) => {
  what.addEventListener(name, done, {once: true});
  video.addEventListener("error", () => fail(new Error(video.error?.message)), {once: true});
});
/** Append a track's init and some of its segments; return the stretches that can be played. */
async function append(entry, kind, numbers) {
  const file = await bytes(`${entry.track}.mp4`);
  const media = new MediaSource();
  video.src = URL.createObjectURL(media);
  await happened(media, "sourceopen");
  const buffer = media.addSourceBuffer(`${kind}/mp4; codecs="${entry.codec}"`);
  const parts = [entry.initSegment, ...numbers.map((n) => entry.segments[n])];
  for (const {offset, size} of parts) {
    buffer.appendBuffer(file.subarray(offset, offset + size));
    await happened(buffer, "updateend");
  }
  const {buffered} = buffer;
  return Array.from({length: buffered.length}, (_, n) => [buffered.start(n), buffered.end(n)]);
}
async function pictureAt(timeS) {
  const next = () => new Promise((done) => {
    video.requestVideoFrameCallback((_, {mediaTime}) => done(mediaTime));
  });
  let shown = next();
  video.currentTime = timeS;
  // On a busy machine the picture from before the seek may still come first.
  while (Math.abs((await shown) - timeS) > 0.05) shown = next();
  const canvas = new OffscreenCanvas(320, 180);
  const context = canvas.getContext("2d");
  context.drawImage(video, 0, 0, 320, 180);
  return [...context.getImageData(0, 0, 320, 180).data];
}
</script>"""


@dataclass(frozen=True)
class Split:
    """A processed film and where its parts are."""

    folder: Path
    made: ProcessedVideo
    index: dict[str, Any]


@pytest.fixture(scope="module")
def bunny(tmp_path_factory: pytest.TempPathFactory) -> Split:
    folder = tmp_path_factory.mktemp("bunny")
    made = process_video(BUNNY, folder, report=lambda _: None)
    return Split(folder, made, json.loads((folder / "index.json").read_text()))


@pytest.fixture(scope="module")
def tab(bunny: Split, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserTab]:
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(PAGE)
    tracks = {f"{key}.mp4": track_path(bunny.folder, int(key)) for key in bunny.index}
    with (
        ClipServer({"page.html": page, **tracks}) as server,
        open_tab() as tab,
    ):
        tab.open(server.address("page.html"))
        yield tab


def packets_of(path: Path, kind: str) -> list[tuple[Fraction, bytes]]:
    with av.open(str(path)) as container:
        stream = next(s for s in container.streams if s.type == kind)
        found = (packet for packet in container.demux(stream) if packet.size)
        return [(p.pts * Fraction(p.time_base), bytes(p)) for p in found if p.pts is not None]


def test_every_packet_of_a_real_film_is_copied_unchanged(bunny: Split) -> None:
    assert [track.is_copied for track in bunny.made.tracks] == [True, True]
    for track in bunny.made.tracks:
        copied = packets_of(track_path(bunny.folder, track.track_id), track.type)
        assert copied == packets_of(BUNNY, track.type)


@pytest.mark.parametrize("name", TRACKS)
def test_a_real_file_becomes_tracks_of_the_same_length(name: str, tmp_path: Path) -> None:
    made = process_video(MEDIA / name, tmp_path, report=lambda _: None)
    assert [(track.type, track.is_copied) for track in made.tracks] == TRACKS[name]
    index = json.loads((tmp_path / "index.json").read_text())
    for track in made.tracks:
        path = track_path(tmp_path, track.track_id)
        content = path.read_bytes()
        for segment in index[str(track.track_id)]["segments"]:
            assert content[segment["offset"] + 4 : segment["offset"] + 8] == b"moof"
        if track.is_copied:
            assert packets_of(path, track.type) == packets_of(MEDIA / name, track.type)
        else:
            assert heard_s(path) == pytest.approx(heard_s(MEDIA / name), abs=0.03)


def heard_s(path: Path) -> float:
    """Return how long the first sound is, by its samples."""
    with av.open(str(path)) as container:
        return sum(frame.samples / frame.rate for frame in container.decode(audio=0))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_fails_with_the_reason(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableMedia, match=BROKEN[name]):
        process_video(MEDIA / name, tmp_path, report=lambda _: None)


@pytest.mark.parametrize("kind", LENA)
def test_sound_of_every_kind_becomes_a_track(kind: str, tmp_path: Path) -> None:
    source = FOLDER / "audio-lena" / f"lena.{kind}"
    made = process_video(source, tmp_path, report=lambda _: None)
    [track] = made.tracks
    assert track.type == "audio"
    assert 12_000 < track.duration_ms < 12_500
    if track.is_copied and kind == "m4a":
        assert packets_of(track_path(tmp_path, 1), "audio") == packets_of(source, "audio")


@pytest.mark.parametrize("which", ["first", "last"])
def test_a_single_segment_plays_at_its_indexed_time(
    bunny: Split, tab: BrowserTab, which: str
) -> None:
    for entry, kind in ((bunny.index["1"], "video"), (bunny.index["2"], "audio")):
        number = 0 if which == "first" else len(entry["segments"]) - 1
        segment = entry["segments"][number]
        [[start, end]] = tab.run(f"append({json.dumps(entry)}, '{kind}', [{number}])")
        at_s = segment["cts"] / entry["timescale"]
        assert start == pytest.approx(at_s, abs=0.03)
        assert end == pytest.approx(at_s + segment["duration"] / entry["timescale"], abs=0.03)


def test_a_browser_seeks_in_the_track(bunny: Split, tab: BrowserTab) -> None:
    entry = bunny.index["1"]
    everything = list(range(len(entry["segments"])))
    [[start, end]] = tab.run(f"append({json.dumps(entry)}, 'video', {everything})")
    assert (start, end) == pytest.approx((0, bunny.made.tracks[0].duration_ms / 1000), abs=0.05)
    with FrameSource(BUNNY, width_px=320, height_px=180) as frames:
        for ms in (4020, 100, 2500):
            shown = np.array(tab.run(f"pictureAt({ms / 1000})"), np.uint8).reshape(180, 320, 4)
            assert psnr(shown[..., :3], frames.rgba_at(Fraction(ms))[..., :3]) > 28
