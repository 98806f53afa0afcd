"""The guide "Hide something in a video", typed as it stands: the rabbit is gone, no more."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.doc_commands import scale_clip, shell_blocks, type_commands
from tests.support.ports import ReservedPort
from tests.support.service import Account
from tests.support.sounds import DecodedAudio, decode_audio, rms

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "howto" / "hide-something.md"
CLIP = ROOT / "examples" / "media" / "bunny.mp4"
# Smaller than the original: a frame takes half as long.
WIDTH, HEIGHT = 960, 540
MARGIN_PX = 8
"""At least so much is hidden around a box."""


@dataclass(frozen=True)
class RedactedGuide:
    """What came of the guide."""

    clip: Path
    film: Path
    boxes: list[dict[str, float]]
    """The keyframes after the review."""
    published: dict[str, Any]


@pytest.fixture(scope="module")
def hidden(account: Account, tmp_path_factory: pytest.TempPathFactory) -> RedactedGuide:
    folder = tmp_path_factory.mktemp("hide")
    for name in ("docs", "tests"):
        (folder / name).symlink_to(ROOT / name)
    clip = folder / "examples" / "media" / CLIP.name
    clip.parent.mkdir(parents=True)
    scale_clip(CLIP, clip, width_px=WIDTH, height_px=HEIGHT)
    reserved = ReservedPort()
    port = reserved.number
    _start, *blocks = (each.text for each in shell_blocks(GUIDE))
    script = "\n".join([*blocks, 'framekiln runs outputs "$run" out > published.json'])
    assert "127.0.0.1:9000" in script
    script = script.replace("127.0.0.1:9000", f"127.0.0.1:{port}")
    script = script.replace("endpoint.py ", f"endpoint.py --port {port} ")
    type_commands(script, account, folder)
    corrected = json.loads((folder / "corrected.json").read_text())
    [seen] = [each for each in corrected["annotations"] if each["kind"] == "colour"]
    published = json.loads((folder / "published.json").read_text())["output"]["metadata"]
    return RedactedGuide(clip, folder / "hidden.mp4", seen["keyframes"], published)


@cache
def pictures(path: Path) -> dict[float, NDArray[np.uint8]]:
    """Return all pictures of a film in grey, by their times in milliseconds."""
    with av.open(str(path)) as container:
        return {
            float(frame.time or 0) * 1000: frame.to_ndarray(format="gray").astype(np.uint8)
            for frame in container.decode(video=0)
        }


def before_and_after(
    hidden: RedactedGuide,
) -> Iterator[tuple[float, NDArray[np.uint8], NDArray[np.uint8]]]:
    """Return the time of each picture of the clip, the picture, and what it has become."""
    before, after = pictures(hidden.clip), pictures(hidden.film)
    return zip(before, before.values(), after.values(), strict=True)


def box_at(boxes: list[dict[str, float]], t_ms: float) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom in pixels of a box between its keyframes."""
    times = [each["t_ms"] for each in boxes]
    x, y, w, h = (np.interp(t_ms, times, [each[side] for each in boxes]) for side in "xywh")
    return x * WIDTH, y * HEIGHT, (x + w) * WIDTH, (y + h) * HEIGHT


def test_the_program_and_the_reviewer_found_the_rabbit(hidden: RedactedGuide) -> None:
    assert len(hidden.boxes) == 27
    # Where its belly is when it stretches, as anybody can see.
    left, top, right, bottom = box_at(hidden.boxes, 2500)
    assert left < 315 < right
    assert top < 225 < bottom
    assert right - left < WIDTH / 2


def test_the_rabbit_is_hidden_in_every_frame(hidden: RedactedGuide) -> None:
    for t_ms, was, is_now in before_and_after(hidden):
        left, top, right, bottom = (int(side) for side in box_at(hidden.boxes, t_ms))
        inside = np.s_[max(top, 0) + 4 : bottom - 4, max(left, 0) + 4 : right - 4]
        # Fur, eyes and grass have edges everywhere; the surface over them has none.
        edges = [np.abs(np.diff(each[inside].astype(np.int16))) for each in (was, is_now)]
        assert np.percentile(edges[0], 99) > 10
        assert np.percentile(edges[1], 99) <= 3


def test_pixels_outside_the_boxes_are_unchanged(hidden: RedactedGuide) -> None:
    for t_ms, was, is_now in before_and_after(hidden):
        _, _, right, _ = box_at(hidden.boxes, t_ms)
        # A box moves while its picture is on screen, and has a margin of a twentieth.
        beside = np.s_[:, int(right + 0.05 * WIDTH) + 2 * MARGIN_PX :]
        error = np.mean((was[beside].astype(np.float32) - is_now[beside]) ** 2)
        assert 10 * np.log10(255**2 / error) > 33
    assert [*pictures(hidden.film)] == pytest.approx([*pictures(hidden.clip)], abs=1)


def test_the_sound_is_muted_for_one_second(hidden: RedactedGuide, tmp_path: Path) -> None:
    # The clip has six channels.
    stereo = tmp_path / "stereo.wav"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", hidden.clip, "-ac", "2", str(stereo)], check=True
    )
    before, after = decode_audio(stereo), decode_audio(hidden.film)
    rate_hz = after.rate_hz
    assert rms(before.mono[2 * before.rate_hz : 3 * before.rate_hz]) > 0.001
    assert not np.any(after.mono[2 * rate_hz : 3 * rate_hz])
    was, is_now = (_loudness(each) for each in (before, after))
    for heard in (np.s_[5:38], np.s_[62:100]):
        assert np.corrcoef(was[heard], is_now[heard])[0, 1] > 0.98


def _loudness(sound: DecodedAudio) -> NDArray[np.float64]:
    """Return how loud each twentieth of five seconds is."""
    return np.array([rms(each) for each in np.split(sound.mono[: 5 * sound.rate_hz], 100)])


def test_the_redaction_is_published(hidden: RedactedGuide) -> None:
    assert hidden.published["source"] == "redacted"
    assert all(
        hidden.published["render_id"] in hidden.published[name]
        for name in ("source_url", "hls_url", "dash_url")
    )
    assert hidden.published["hls_url"].partition("?")[0].endswith("/manifest.m3u8")
    assert hidden.published["dash_url"].partition("?")[0].endswith("/manifest.mpd")
