"""Files become tracks: copied to the bit where browsers play them, encoded anew where not."""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from framekiln.files.streams.assembly import assemble_video
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.isobmff.index import index_of_tracks, read_init_bytes, read_segment_bytes
from framekiln.media.isobmff.track_file import TrackFile
from framekiln.media.tracks.progress import WorkProgress
from framekiln.media.tracks.split import ProcessedVideo, process_video, split_task, track_path
from tests.support import unusual_clips
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import draw_frame_code, read_frame_code
from tests.support.looks import decode_frames, measure_file
from tests.support.sounds import av_offset_ms, beep_times
from tests.support.unusual_clips import ClipCoding, ClipPart, make_pictures, mux_parts

SECOND = Fraction(1)


@dataclass(frozen=True)
class SplitResult:
    """What came of a source."""

    source: Path
    folder: Path
    video: ProcessedVideo
    parts: list[Fraction]

    @property
    def index(self) -> dict[str, Any]:
        return json.loads((self.folder / "index.json").read_text(encoding="utf-8"))

    def path(self, track_id: int) -> Path:
        return track_path(self.folder, track_id)


def split_into(folder: Path, source: Path) -> SplitResult:
    parts: list[Fraction] = []
    video = process_video(source, folder, report=parts.append)
    return SplitResult(source, folder, video, parts)


@pytest.fixture
def split(tmp_path: Path) -> Callable[[Path], SplitResult]:
    return partial(split_into, tmp_path / "made")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SplitResult]:
    """Split a source of `COPIED`: each once, for all tests that look at what came of it."""

    @cache
    def result(name: str) -> SplitResult:
        folder = tmp_path_factory.mktemp("copied")
        return split_into(folder / "made", COPIED[name](folder))

    return result


def packets(path: Path, index: int) -> list[tuple[Fraction, bytes]]:
    with av.open(path) as container:
        stream = container.streams[index]
        return [
            ((packet.pts or 0) * packet.time_base, bytes(packet))
            for packet in container.demux(stream)
            if packet.size
        ]


def picture_hashes(media: Path | bytes) -> list[tuple[Fraction, str]]:
    with av.open(io.BytesIO(media) if isinstance(media, bytes) else media, "r") as container:
        return [
            (
                (frame.pts or 0) * Fraction(frame.time_base or 0),
                hashlib.sha256(frame.to_ndarray().tobytes()).hexdigest(),
            )
            for frame in container.decode(video=0)
        ]


def late_and_early(folder: Path) -> Path:
    video = make_clip(folder / "v.mp4", Clip(b_frames=2, audio_codec=None))
    sound = make_clip(folder / "a.mp4", Clip(video_codec=None))
    return mux_parts(
        folder / "late.mov",
        [ClipPart(video, later_s=Fraction(1, 2)), ClipPart(sound, later_s=SECOND / 4)],
    )


def two_sounds(folder: Path) -> Path:
    film = make_clip(folder / "film.mp4", Clip(b_frames=2))
    other = make_clip(folder / "other.mp4", Clip(video_codec=None, beep_delay_ms=300))
    parts = [ClipPart(film), ClipPart(film, 1, language="eng"), ClipPart(other, language="deu")]
    return mux_parts(folder / "two.mp4", parts)


SHORT_GROUPS = Clip(b_frames=2, keyframe_every=12, duration_s=Fraction(3), fps=Fraction(24))
COPIED: dict[str, Callable[[Path], Path]] = {
    "B-frames": lambda f: make_clip(f / "a.mp4", SHORT_GROUPS),
    "NTSC in MOV": lambda f: make_clip(f / "a.mov", Clip(fps=Fraction(30000, 1001), b_frames=2)),
    "late starts": late_and_early,
    "MKV": lambda f: make_clip(f / "a.mkv", Clip(b_frames=2, keyframe_every=20)),
    "variable rate": lambda f: make_clip(f / "a.mp4", Clip(variable_rate=True, b_frames=2)),
    "turned": lambda f: make_clip(f / "a.mp4", Clip(rotation_degrees=90)),
    "VP9 and Opus": lambda f: make_clip(
        f / "a.webm", Clip(video_codec="libvpx-vp9", audio_codec="libopus")
    ),
    "AV1": lambda f: make_pictures(
        f / "a.mkv", ClipCoding("libsvtav1", options=(("preset", "12"),))
    ),
    "silent": lambda f: make_clip(f / "a.mp4", Clip(audio_codec=None)),
    "several sounds": two_sounds,
    "sound alone": lambda f: make_clip(f / "a.m4a", Clip(video_codec=None)),
    "Ogg Opus": lambda f: make_clip(f / "a.ogg", Clip(video_codec=None, audio_codec="libopus")),
}


@pytest.mark.spec("2.7")
@pytest.mark.parametrize("name", COPIED)
def test_tracks_that_browsers_play_are_copied_with_their_times(
    copied: Callable[[str], SplitResult], name: str
) -> None:
    made = copied(name)
    assert [track.reason for track in made.video.tracks] == [None] * len(made.video.tracks)
    assert made.video.left_out == ()
    with av.open(made.source) as container:
        streams = [(stream.index, stream.type, stream.time_base) for stream in container.streams]
    assert [track.track_id for track in made.video.tracks] == [index + 1 for index, *_ in streams]
    for index, kind, time_base in streams:
        source, copy = packets(made.source, index), packets(made.path(index + 1), 0)
        assert [data for _, data in copy] == [data for _, data in source]
        # Only a container that counts milliseconds cannot say where a sample lies.
        off_s = Fraction(1, 500) if kind == "audio" and time_base == Fraction(1, 1000) else 0
        shifts = [abs(a - b) for (a, _), (b, _) in zip(copy, source, strict=True)]
        assert max(shifts) <= off_s
    check_index(made)
    check_progress(made)


@pytest.mark.parametrize("name", ["B-frames", "MKV", "late starts", "VP9 and Opus", "AV1"])
def test_a_fragment_alone_decodes_to_the_pictures_of_the_source(
    copied: Callable[[str], SplitResult], name: str
) -> None:
    made = copied(name)
    data = made.path(1).read_bytes()
    with TrackFile(made.path(1)) as file:
        init = file.read_init()
        fragments = list(file.fragments(init))
    assert len(fragments) > 1
    shown: list[tuple[Fraction, str]] = []
    for fragment in fragments:
        piece = data[fragment.offset : fragment.offset + fragment.size_bytes]
        pictures = picture_hashes(data[: init.size_bytes] + piece)
        assert pictures[0][0] == Fraction(fragment.cts, init.timescale)
        assert len(pictures) == len(fragment.samples)
        shown += pictures
    assert shown == picture_hashes(made.source)


def check_index(made: SplitResult) -> None:
    """What the index promises lies in the files."""
    index = made.index
    assert index == index_of_tracks({int(key): made.path(int(key)) for key in index})
    has_pictures = any(entry["type"] == "video" for entry in index.values())
    scrub = made.video.scrub
    assert ("-1" in index) == has_pictures == (scrub is not None)
    for key, entry in index.items():
        assert entry["track"] == int(key)
        path = made.path(entry["track"])
        assert read_init_bytes(path, entry)[4:8] == b"ftyp"
        end = entry["initSegment"]["size"]
        for number, segment in enumerate(entry["segments"]):
            assert segment["offset"] == end
            end += segment["size"]
            assert read_segment_bytes(path, entry, number)[4:8] == b"moof"
            is_last = number == len(entry["segments"]) - 1
            assert is_last or segment["duration"] * 1000 >= 2000 * entry["timescale"]
        assert end == path.stat().st_size
        first = entry["segments"][0]["cts"]
        assert first == round(
            Fraction(entry.get("startTimeOffsetMs", 0), 1000) * entry["timescale"]
        )
        assert sum(segment["duration"] for segment in entry["segments"]) == entry["duration"]


def check_progress(made: SplitResult) -> None:
    assert made.parts == sorted(made.parts)
    assert made.parts[-1] == 1
    assert made.parts.count(Fraction(1)) == 1
    assert len(made.parts) > 5


def test_the_index_has_everything_that_players_need(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    clip = Clip(fps=Fraction(12), duration_s=Fraction(6), keyframe_every=6, b_frames=2)
    index = split(make_clip(tmp_path / "a.mp4", clip)).index
    assert list(index) == ["-1", "1", "2"]
    segments = index["1"].pop("segments")
    sizes = index["1"].pop("initSegment")
    assert index["1"] == {
        "track": 1,
        "type": "video",
        "timescale": 12288,
        "duration": 6 * 12288,
        "codec": "avc1.4d400c",
        "sample_count": 72,
        "width": 320,
        "height": 240,
    }
    assert sizes["offset"] == 0
    assert [segment["cts"] for segment in segments] == [0, 2 * 12288, 4 * 12288]
    sound = index["2"]
    assert (sound["type"], sound["codec"], sound["timescale"]) == ("audio", "mp4a.40.2", 48_000)
    assert (sound["channel_count"], sound["sample_rate"], sound["sample_size"]) == (2, 48_000, 16)
    assert sound["duration"] == 6 * 48_000


def test_late_tracks_record_their_start(copied: Callable[[str], SplitResult]) -> None:
    index = copied("late starts").index
    assert index["1"]["startTimeOffsetMs"] == 500
    assert index["-1"]["startTimeOffsetMs"] == 500
    assert abs(index["2"]["startTimeOffsetMs"] - 250) <= 25


ENCODED: dict[str, tuple[str, ClipCoding, str]] = {
    "open groups": ("a.mp4", unusual_clips.OPEN_H264, "open"),
    "10 bits": ("a.mp4", unusual_clips.TEN_BIT, "yuv420p10le"),
    "4:4:4": ("a.mp4", unusual_clips.CHROMA_444, "yuv444p"),
    "interlaced": ("a.mp4", unusual_clips.INTERLACED, "interlaced"),
    "HEVC": ("a.mp4", unusual_clips.HEVC, "hevc"),
    "ProRes": ("a.mov", unusual_clips.PRORES, "prores"),
    "Motion JPEG": ("a.mov", unusual_clips.MJPEG, "mjpeg"),
    "MPEG-4": ("a.mp4", unusual_clips.MPEG4, "mpeg4"),
    "VP8": ("a.webm", unusual_clips.VP8, "vp8"),
}


@pytest.mark.parametrize(("name", "coding", "reason"), ENCODED.values(), ids=ENCODED)
def test_other_video_is_encoded_with_the_same_times(
    tmp_path: Path, split: Callable[[Path], SplitResult], name: str, coding: ClipCoding, reason: str
) -> None:
    made = split(make_pictures(tmp_path / name, coding))
    (track,) = made.video.tracks
    assert (track.codec_name, track.is_copied) == ("h264", False)
    assert reason in (track.reason or "")
    assert track.codec.startswith("avc1.64")
    facts = measure_file(made.path(1)).video
    assert facts is not None
    assert (facts.pix_fmt, facts.matrix, facts.colour_range) == ("yuv420p", "bt709", "limited")
    expected = [frame.pts for frame in decode_frames(made.source)]
    for track_id in (1, -1):
        frames = decode_frames(made.path(track_id))
        assert [frame.pts for frame in frames] == expected
        assert [read_frame_code(frame.rgb) for frame in frames] == list(range(48))
    check_index(made)
    check_progress(made)


def test_frames_of_an_avi_that_are_decoded_in_another_order_are_shown_in_theirs(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    """AVI says when frames are decoded only."""
    reordered = ClipCoding("libx264", options=(("preset", "ultrafast"), ("bf", "3")))
    made = split(make_pictures(tmp_path / "a.avi", reordered))
    assert "B-frames" in (made.video.tracks[0].reason or "")
    for track_id in (1, -1):
        frames = decode_frames(made.path(track_id))
        assert [read_frame_code(frame.rgb) for frame in frames] == list(range(48))
        steps = {after.pts - before.pts for before, after in pairwise(frames)}
        assert len(steps) == 1
    with VideoDecoder(made.source) as decoder:
        decoder.seek(30)
        frame = decoder.read()
        assert frame is not None
        assert read_frame_code(np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)) == 24


def test_the_last_frame_of_an_encoded_track_lasts_as_long_as_in_its_source(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    """It was as long as the frame that was decoded before it."""
    frames = [Image.fromarray(draw_frame_code(n, 160, 120)) for n in range(6)]
    durations_ms = [100, 200, 300, 100, 500, 1000]
    path = tmp_path / "a.gif"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations_ms)
    made = split(path)
    assert [made.video.duration_ms, made.video.tracks[0].duration_ms] == [2200, 2200]
    for track_id in (1, -1):
        entry, decoded = made.index[str(track_id)], decode_frames(made.path(track_id))
        assert Fraction(entry["duration"], entry["timescale"]) == Fraction(22, 10)
        assert [read_frame_code(frame.rgb) for frame in decoded] == list(range(6))


def test_video_with_distant_keyframes_is_encoded(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    coding = ClipCoding("libx264", group=600, options=unusual_clips.QUICK)
    made = split(make_pictures(tmp_path / "a.mp4", coding, count=75, fps=6))
    assert "12.3 s apart" in (made.video.tracks[0].reason or "")
    timescale = made.index["1"]["timescale"]
    starts = [Fraction(segment["cts"], timescale) for segment in made.index["1"]["segments"]]
    assert starts == [0, 2, 4, 6, 8, 10, 12]


def test_a_rotated_video_is_upright_when_encoded(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    source = make_pictures(tmp_path / "a.mp4", unusual_clips.TEN_BIT, count=6, rotation_degrees=90)
    made = split(source)
    assert (made.video.width_px, made.video.height_px) == (120, 160)
    upright = decode_frames(made.path(1))[5].rgb
    assert upright.shape[:2] == (160, 120)
    # A turn counter-clockwise: turned back, the code reads as it was drawn.
    assert read_frame_code(upright.swapaxes(0, 1)[:, ::-1]) == 5
    assert decode_frames(made.path(-1))[0].rgb.shape[:2] == (426, 320)


def test_a_copied_video_keeps_its_rotation(copied: Callable[[str], SplitResult]) -> None:
    made = copied("turned")
    facts = measure_file(made.path(1)).video
    assert facts is not None
    assert facts.rotation_degrees == 90
    assert (made.video.width_px, made.video.height_px) == (240, 320)
    assert decode_frames(made.path(-1))[0].rgb.shape[:2] == (426, 320)


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.mp3", "libmp3lame"),
        ("a.wav", "pcm_s16le"),
        ("a.flac", "flac"),
        ("a.mp4", "libmp3lame"),
        ("a.mkv", "ac3"),
    ],
)
def test_other_audio_is_encoded_as_aac_at_the_same_times(
    tmp_path: Path, split: Callable[[Path], SplitResult], name: str, codec: str
) -> None:
    clip = Clip(video_codec=None, audio_codec=codec, sample_rate_hz=44_100, beep_delay_ms=100)
    made = split(make_clip(tmp_path / name, clip))
    (track,) = made.video.tracks
    assert (track.type, track.codec, track.is_copied) == ("audio", "mp4a.40.2", False)
    assert track.probe_info["sample_rate"] == "48000"
    assert (made.video.width_px, made.video.scrub) == (None, None)
    beeps = beep_times(made.path(1))
    assert len(beeps) == 2
    for beep, expected_ms in zip(beeps, (100, 1100), strict=True):
        assert abs(beep * 1000 - expected_ms) <= 3
    check_index(made)
    check_progress(made)


def test_pictures_and_sound_stay_together_when_one_is_copied_and_one_is_not(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    made = split(make_clip(tmp_path / "a.mp4", Clip(audio_codec="libmp3lame", b_frames=2)))
    assert [track.is_copied for track in made.video.tracks] == [True, False]
    joined = mux_parts(tmp_path / "joined.mp4", [ClipPart(made.path(1)), ClipPart(made.path(2))])
    assert abs(av_offset_ms(joined)) <= 3


def test_streams_that_are_neither_video_nor_audio_are_left_out(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    film = make_clip(tmp_path / "film.mp4", Clip())
    second = make_pictures(
        tmp_path / "second.mp4", ClipCoding("libx264", options=unusual_clips.QUICK)
    )
    made = split(
        mux_parts(tmp_path / "a.mkv", [ClipPart(film, 1), ClipPart(film), ClipPart(second)])
    )
    assert [(track.track_id, track.type) for track in made.video.tracks] == [
        (1, "audio"),
        (2, "video"),
    ]
    assert [(track.track_id, track.type) for track in made.video.left_out] == [(3, "video")]


def test_languages_are_kept(copied: Callable[[str], SplitResult]) -> None:
    tracks = copied("several sounds").video.tracks
    assert [track.probe_info.get("tags") for track in tracks[1:]] == [
        {"language": "eng"},
        {"language": "deu"},
    ]


def test_a_film_is_as_long_as_its_longest_track_also_when_it_was_streamed(
    tmp_path: Path, split: Callable[[Path], SplitResult]
) -> None:
    film = make_clip(tmp_path / "film.mp4", Clip(duration_s=SECOND))
    late = ClipPart(film, 1, later_s=2 * SECOND)
    made = split(mux_parts(tmp_path / "a.mkv", [ClipPart(film), ClipPart(film, 1), late]))
    assert made.video.duration_ms == pytest.approx(3000, abs=30)
    streamed = assemble_video(
        made.folder, [1, 2, 3], WorkProgress(lambda _: None), source=tmp_path / "whole.mp4"
    )
    assert streamed.duration_ms == made.video.duration_ms


def test_the_task_takes_and_gives_json(tmp_path: Path) -> None:
    source = make_clip(tmp_path / "a.mp4", Clip(duration_s=SECOND))
    reports: list[dict[str, Any]] = []
    args = {"source": str(source), "folder": str(tmp_path / "made")}
    result = json.loads(json.dumps(split_task(args, reports.append)))
    assert reports[-1] == {"progress": 1.0}
    assert (result["width_px"], result["height_px"], result["duration_ms"]) == (320, 240, 1000)
    video = result["tracks"][0]
    assert (video["track_id"], video["codec_name"], video["duration_ms"]) == (1, "h264", 1000)
    assert video["byte_size"] == (tmp_path / "made/tracks/1.mp4").stat().st_size
    info = video["probe_info"]
    assert (info["r_frame_rate"], info["width"], info["pix_fmt"]) == ("30/1", 320, "yuv420p")
    assert (info["duration"], info["start_time"]) == ("1.000000", "0.000000")


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    source = make_pictures(tmp_path / "a.mov", unusual_clips.MJPEG, count=12)
    made = [tmp_path / "one", tmp_path / "two"]
    for folder in made:
        process_video(source, folder, report=lambda _: None)
    for name in ("tracks/1.mp4", "tracks/-1.mp4", "index.json"):
        first, second = ((folder / name).read_bytes() for folder in made)
        assert first == second
