"""Looking through films: pictures at exact times, and where shots change."""

from fractions import Fraction
from math import ceil
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from framekiln.media.analysis import sampled_frames, scene_cuts
from framekiln.media.analysis.sampled_frames import sample_frames
from framekiln.media.analysis.scene_cuts import find_scene_cuts
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code

RATES = [Fraction(25), Fraction(30000, 1001), Fraction(24000, 1001)]


def code_of(path: Path) -> int | None:
    return read_frame_code(np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("every_ms", [1000, 333, 100])
def test_sampled_frames_are_those_on_screen(tmp_path: Path, rate: Fraction, every_ms: int) -> None:
    clip = Clip(fps=rate, duration_s=Fraction(3), audio_codec=None)
    end_ms = ceil(len(clip.frame_numbers) * 1000 / rate)
    path = make_clip(tmp_path / "clip.mp4", clip)
    taken = list(sample_frames(path, tmp_path, every_ms=every_ms))
    assert [frame.at_ms for frame in taken] == list(range(0, end_ms, every_ms))
    for frame in taken:
        assert code_of(frame.path) == int(Fraction(frame.at_ms, 1000) * rate)


def test_a_span_begins_at_the_next_multiple(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(3), audio_codec=None))
    taken = sample_frames(clip, tmp_path, every_ms=500, from_ms=700, until_ms=2000)
    assert [frame.at_ms for frame in taken] == [1000, 1500]


def test_the_task_returns_and_reports_its_frames(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1), audio_codec=None))
    reports: list[dict[str, object]] = []
    args = {"source": str(clip), "folder": str(tmp_path), "every_ms": 500}
    assert sampled_frames.sampled_frames_task(args, reports.append) == {"at_ms": [0, 500]}
    assert len(reports) == 2


def film_with_cuts(path: Path, cuts: list[int], *, frames: int = 100) -> Path:
    """Moving noise at 25 fps whose colours change altogether at some frames."""
    random = np.random.default_rng(3)
    grounds = [random.integers(0, 256, (9, 16, 3)).astype(np.uint8) for _ in range(len(cuts) + 1)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for number in range(frames):
            ground = grounds[sum(number >= cut for cut in cuts)]
            picture = np.roll(np.kron(ground, np.ones((20, 20, 1), np.uint8)), number, axis=1)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_hard_cuts_are_found_to_the_frame_and_nothing_else(tmp_path: Path) -> None:
    film = film_with_cuts(tmp_path / "cuts.mp4", [20, 33, 71])
    found = list(find_scene_cuts(film, threshold=0.2))
    assert [cut.at_ms for cut in found] == [800, 1320, 2840]
    assert all(0.2 < cut.score <= 1 for cut in found)


def test_a_span_finds_its_own_cuts_only(tmp_path: Path) -> None:
    film = film_with_cuts(tmp_path / "cuts.mp4", [20, 33, 71])
    args = {"source": str(film), "threshold": 0.2, "from_ms": 1000, "until_ms": 2800, "most": 9}
    assert [cut["at_ms"] for cut in scene_cuts.scene_cuts_task(args, lambda _: None)["cuts"]] == [
        1320
    ]


def test_cuts_beyond_the_most_are_only_counted(tmp_path: Path) -> None:
    film = film_with_cuts(tmp_path / "cuts.mp4", [20, 33, 71])
    args = {"source": str(film), "threshold": 0.2, "most": 2}
    found = scene_cuts.scene_cuts_task(args, lambda _: None)
    assert [cut["at_ms"] for cut in found["cuts"]] == [800, 1320]
    assert found["cut_count"] == 3
