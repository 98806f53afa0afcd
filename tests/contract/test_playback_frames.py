"""What segments show and sound like: every frame of the source once, at its time, and no joints.

Frames carry their numbers; sound has a beep at every full second.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from framekiln.media.audio.decoder import RATE_HZ, read_audio
from framekiln.media.errors import SlicesDiffer
from framekiln.media.probe.media_file import probe_media
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import Outline, Rendition, RenditionSize
from framekiln.media.segments.tasks import make_segment
from framekiln.media.tracks.split import process_video, track_path
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames, measure_file
from tests.support.sounds import beep_times
from tests.support.unusual_clips import (
    HEVC,
    INTERLACED,
    OPEN_H264,
    TEN_BIT,
    ClipCoding,
    ClipPart,
    make_pictures,
    mux_parts,
)

BROADCAST = Fraction(30000, 1001)
FILM = Fraction(24000, 1001)
# Long enough for three segments. Smaller pictures get a level of H.264 that browsers do not know.
SMALL = Clip(width=192, height=144, duration_s=Fraction(9))
LEVEL = 0.2


@dataclass(frozen=True)
class Case:
    """A source and what becomes of it."""

    name: str
    clip: Clip
    is_copied: bool
    turns: int = 0
    """Quarter turns that make a shown picture readable again."""


CASES = [
    # Pictures are decoded in another order than shown; a keyframe every second.
    Case("copied.mp4", replace(SMALL, fps=BROADCAST, b_frames=2), is_copied=True),
    Case("film.mkv", replace(SMALL, fps=FILM, b_frames=2), is_copied=True),
    Case("uneven.mp4", replace(SMALL, fps=FILM, variable_rate=True, b_frames=2), is_copied=True),
    # One keyframe in all: too far apart to begin segments with.
    Case(
        "long.mp4",
        replace(SMALL, fps=FILM, keyframe_every=999, duration_s=Fraction(11)),
        is_copied=False,
    ),
    Case(
        "turned.mp4",
        replace(SMALL, variable_rate=True, rotation_degrees=90),
        is_copied=False,
        turns=-1,
    ),
    Case(
        "foreign.webm",
        replace(SMALL, fps=BROADCAST, video_codec="libvpx-vp9", audio_codec="libopus"),
        is_copied=False,
    ),
]


@dataclass(frozen=True)
class SegmentedSource:
    """A source, and all segments of all its renditions."""

    case: Case
    source: Path
    outline: Outline
    segments: dict[str, list[bytes]]

    def whole(self, rendition: Rendition) -> Path:
        """Write a rendition as one file."""
        path = self.source.with_name(f"{rendition.id}.mp4")
        path.write_bytes(b"".join([rendition.init, *self.segments[rendition.id]]))
        return path


def all_segments(source: Path, rendition: Rendition) -> list[bytes]:
    """Make them, the last first: none may depend on one before it."""
    numbers = range(rendition.segment_count, 0, -1)
    return [make_segment(source, rendition, number) for number in numbers][::-1]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> SegmentedSource:
    case: Case = request.param
    source = make_clip(tmp_path_factory.mktemp("sources") / case.name, case.clip)
    outline = make_outline(source, source)
    segments = {each.id: all_segments(source, each) for each in outline.renditions}
    return SegmentedSource(case, source, outline, segments)


def test_every_frame_appears_once_at_its_time(made: SegmentedSource) -> None:
    clip = made.case.clip
    assert [each.id for each in made.outline.video_renditions] == ["high", "scrub"]
    assert made.outline.video_renditions[0].is_copy == made.case.is_copied
    assert made.outline.video_renditions[0].segment_count >= 3
    for rendition in made.outline.video_renditions:
        frames = decode_frames(made.whole(rendition))
        pictures = [np.rot90(frame.rgb, made.case.turns) for frame in frames]
        assert [read_frame_code(picture) for picture in pictures] == clip.frame_numbers
        # Some containers count milliseconds.
        tick = Fraction(1, rendition.timescale)
        exact = [n / clip.fps for n in clip.frame_numbers]
        errors = [abs(frame.pts - at) for frame, at in zip(frames, exact, strict=True)]
        assert max(errors) <= tick / 2


def test_a_segment_plays_by_itself(made: SegmentedSource, tmp_path: Path) -> None:
    for rendition in made.outline.video_renditions:
        path = tmp_path / f"{rendition.id}.mp4"
        path.write_bytes(rendition.init + made.segments[rendition.id][2])
        frames = decode_frames(path)
        start, end = (rendition.seconds(bound) for bound in rendition.bounds[2:4])
        assert frames[0].pts == start
        assert start < frames[-1].pts < end


def test_manifests_match_the_segments(made: SegmentedSource) -> None:
    for rendition in made.outline.video_renditions:
        path = made.whole(rendition)
        found = measure_file(path).video
        assert found is not None
        assert rendition.size == RenditionSize(found.width, found.height)
        with av.open(str(path)) as container:
            parameters = bytes(container.streams.video[0].codec_context.extradata or b"")
        assert rendition.codecs == f"avc1.{parameters[1:4].hex()}"


def test_segments_follow_each_other_and_keep_their_rates(made: SegmentedSource) -> None:
    for rendition in made.outline.renditions:
        assert rendition.bounds[0] == 0
        assert all(before < after for before, after in pairwise(rendition.bounds))
        segments = made.segments[rendition.id]
        for segment, ticks in zip(segments, rendition.durations_ticks, strict=True):
            assert 8 * len(segment) / rendition.seconds(ticks) <= rendition.peak_bits_per_s


def test_sound_keeps_its_times(made: SegmentedSource) -> None:
    sound = made.outline.audio_rendition
    assert sound is not None
    assert sound.is_copy == (made.source.suffix == ".mp4")
    found = beep_times(made.whole(sound))
    # The first frame has none before it to overlap with: the very start is faded in.
    assert found[0] == pytest.approx(0, abs=0.015)
    assert found[1:] == pytest.approx(beep_times(made.source)[1:], abs=0.0005)


# --- sound --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tone.wav", "tone.webm", "tone.mka"])
def test_joined_audio_segments_have_no_clicks(name: str, tmp_path: Path) -> None:
    source = make_tone(tmp_path / name)
    sound = make_outline(source, source).audio_rendition
    assert sound is not None
    assert not sound.is_copy
    path = tmp_path / "sound.mp4"
    path.write_bytes(b"".join([sound.init, *all_segments(source, sound)]))
    before = samples_of(source)
    difference = before - samples_of(path)
    joints = sound.bounds[1:-1]
    assert len(joints) == 3
    # What the codec does anywhere; a jump of a millisecond would be as loud as the tone.
    at_joints = [loudness(difference[joint - 480 : joint + 480]) for joint in joints]
    assert max(at_joints) < loudness(before) / 20


def make_tone(path: Path) -> Path:
    codec = {".wav": "pcm_s16le", ".webm": "libopus", ".mka": "aac"}[path.suffix]
    rate = 44_100 if codec == "aac" else RATE_HZ
    time_s = np.arange(10 * rate) / rate
    tone = LEVEL * (np.sin(2 * np.pi * 440 * time_s) + np.sin(2 * np.pi * 1117 * time_s) / 2)
    samples = np.stack([tone, tone]).astype(np.float32)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="stereo")
        assert isinstance(stream, AudioStream)
        stream.bit_rate = 256_000
        for first in range(0, samples.shape[1], 960):
            part = np.ascontiguousarray(samples[:, first : first + 960])
            frame = av.AudioFrame.from_ndarray(part, "fltp", "stereo")
            frame.sample_rate, frame.pts, frame.time_base = rate, first, Fraction(1, rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def samples_of(path: Path) -> NDArray[np.float32]:
    whole = np.zeros(9 * RATE_HZ, np.float32)
    for stretch in read_audio(path, 0, len(whole)):
        whole[stretch.first : stretch.end] = stretch.samples[0]
    return whole


def loudness(samples: NDArray[np.float32]) -> float:
    return float(np.sqrt((samples**2).mean()))


# --- sources that are not as simple -------------------------------------------------------------


@pytest.mark.parametrize(
    "coding", [OPEN_H264, TEN_BIT, INTERLACED, HEVC], ids=["open", "10-bit", "interlaced", "hevc"]
)
def test_codecs_that_browsers_do_not_play_are_encoded(coding: ClipCoding, tmp_path: Path) -> None:
    source = make_pictures(tmp_path / "source.mp4", coding, count=72)
    main = make_outline(source, source).video_renditions[0]
    assert not main.is_copy
    assert main.segment_count == 2
    path = tmp_path / "made.mp4"
    path.write_bytes(b"".join([main.init, *all_segments(source, main)]))
    found = measure_file(path).video
    assert found is not None
    assert (found.codec, found.pix_fmt) == ("h264", "yuv420p")
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(72))


@pytest.mark.parametrize(
    ("coding", "is_copy"),
    [(ClipCoding("libx264"), True), (TEN_BIT, False)],
    ids=["copied", "encoded"],
)
def test_a_late_start_is_shown_from_zero(coding: ClipCoding, is_copy: bool, tmp_path: Path) -> None:
    pictures = make_pictures(tmp_path / "a.mp4", coding)
    late = mux_parts(tmp_path / "late.mkv", [ClipPart(pictures, later_s=Fraction(1, 2))])
    main = make_outline(late, late).video_renditions[0]
    assert main.is_copy == is_copy
    path = tmp_path / "made.mp4"
    path.write_bytes(b"".join([main.init, *all_segments(late, main)]))
    frames = decode_frames(path)
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(48))
    assert frames[0].pts == 0
    assert [float(frame.pts) for frame in frames[1:]] == pytest.approx(
        [0.5 + n / 24 for n in range(1, 48)], abs=0.001
    )


@pytest.mark.parametrize("later_s", [Fraction(1, 25), Fraction(10)])
def test_the_frame_rate_of_a_late_start_counts_from_its_first_frame(
    later_s: Fraction, tmp_path: Path
) -> None:
    """It was the mean from time zero: less than half after a start at 10 s."""
    pictures = make_pictures(tmp_path / "a.mp4", ClipCoding("libx264"))
    late = mux_parts(tmp_path / "late.mkv", [ClipPart(pictures, later_s=later_s)])
    for rendition in make_outline(late, None).renditions:
        # The container counts milliseconds.
        assert rendition.fps == pytest.approx(24, rel=0.001)


def test_the_sound_of_a_cut_film_ends_with_its_source(tmp_path: Path) -> None:
    """What the cut had left out was added at the end, as silence."""
    whole = make_clip(tmp_path / "whole.mp4", replace(SMALL, duration_s=Fraction(2)))
    earlier_s = Fraction(-3, 2)
    parts = [ClipPart(whole, later_s=earlier_s), ClipPart(whole, 1, later_s=earlier_s)]
    cut = mux_parts(tmp_path / "cut.mp4", parts)
    process_video(cut, tmp_path / "tracks", report=lambda _: None)
    pictures, sound = (track_path(tmp_path / "tracks", number) for number in (1, 2))
    outline = make_outline(pictures, sound)
    found = outline.audio_rendition
    assert found is not None
    assert not found.is_copy
    duration_s = float(probe_media(cut).duration_ms / 1000)
    assert duration_s < 0.6
    assert float(outline.duration_s) == pytest.approx(duration_s, abs=1024 / RATE_HZ)


def test_a_mirrored_video_is_shown_as_in_the_mirror(tmp_path: Path) -> None:
    """As phones record themselves; it was copied, but without its orientation."""
    source = make_pictures(
        tmp_path / "a.mp4", ClipCoding("libx264"), count=12, size_px=(192, 144), is_mirrored=True
    )
    main = make_outline(source, None).video_renditions[0]
    path = tmp_path / "made.mp4"
    path.write_bytes(b"".join([main.init, *all_segments(source, main)]))
    frames = decode_frames(path)
    assert [read_frame_code(frame.rgb[:, ::-1]) for frame in frames] == list(range(12))


def test_pixels_become_square(tmp_path: Path) -> None:
    source = tmp_path / "wide.mp4"
    with av.open(str(source), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        stream.codec_context.sample_aspect_ratio = Fraction(2)
        for n in range(10):
            frame = av.VideoFrame(160, 120, "yuv420p")
            frame.pts = n
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    main = make_outline(source, None).video_renditions[0]
    assert (main.is_copy, main.size) == (False, RenditionSize(320, 120))


def test_a_change_of_encoder_is_an_error(tmp_path: Path) -> None:
    source = make_clip(tmp_path / "clip.mp4", replace(SMALL, duration_s=Fraction(1)))
    scrub = make_outline(source, None).video_renditions[-1]
    with pytest.raises(SlicesDiffer):
        make_segment(source, replace(scrub, init=b"of another version"), 1)
