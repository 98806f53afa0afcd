"""Our reader of films finds what FFmpeg finds; the api cuts films without FFmpeg."""

import struct
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from framekiln.media.audio.mix import mix
from framekiln.media.encode.film_encoder import FilmEncoder, VideoSettings
from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.film_file import FilmAudio, FilmFile, reorder_depth
from framekiln.media.remux.join import join_mp4
from tests.support.timeouts import TIMEOUT_S

NTSC = Fraction(30000, 1001)
WIDTH, HEIGHT = 64, 48
# Slices shorter than the encoder's reordering say nothing about it in their edit lists.
CUTS = (0, 50, 51, 53, 113, 120)


def encoded(path: Path, count: int, settings: VideoSettings) -> Path:
    """Encode noise, so that frames differ in size and are reordered."""
    noise = np.random.default_rng(7)
    with FilmEncoder(path, settings) as encoder:
        for _ in range(count):
            pixels = encoder.buffer()
            pixels[...] = noise.integers(0, 256, pixels.shape, np.uint8)
            encoder.write(pixels)
    return path


def parts(folder: Path, settings: VideoSettings) -> Sequence[Path]:
    """Return slices of all lengths, their sound, and the film."""
    lengths = [end - start for start, end in pairwise(CUTS)]
    slices = [
        encoded(folder / f"{number}.mp4", length, settings) for number, length in enumerate(lengths)
    ]
    sound, film = folder / "sound.mp4", folder / "film.mp4"
    mix([], CUTS[-1] * 1000 / settings.fps, sound)
    join_mp4(slices, sound, film)
    return [*slices, film, sound]


@pytest.mark.parametrize(
    "settings",
    [
        VideoSettings(WIDTH, HEIGHT, Fraction(30)),
        VideoSettings(WIDTH, HEIGHT, NTSC, preset="medium"),
        VideoSettings(WIDTH, HEIGHT, Fraction(25, 2), preset="superfast"),
        VideoSettings(WIDTH, HEIGHT, Fraction(60), bits_per_s=200_000),
        VideoSettings(WIDTH, HEIGHT, Fraction(1)),
    ],
    ids=["plain", "medium", "superfast", "bit rate", "one a second"],
)
def test_parameters_and_samples_are_those_that_ffmpeg_reads(
    tmp_path: Path, settings: VideoSettings
) -> None:
    *pictures, sound = parts(tmp_path, settings)
    for path in pictures:
        with FilmFile(path) as film, av.open(path) as reference:
            stream = reference.streams.video[0]
            context = stream.codec_context
            video = film.video()
            assert (video.width_px, video.height_px) == (context.width, context.height)
            assert video.avcc == bytes(context.extradata or b"")
            assert video.delay == context.reorder_depth
            assert Fraction(1, film.timescale("video")) == stream.time_base
            assert [(each.shown, each.is_sync, each.data) for each in film.samples("video")] == [
                (packet.pts, packet.is_keyframe, bytes(packet))
                for packet in reference.demux(stream)
                if packet.pts is not None
            ]
    for path in (pictures[-1], sound):
        with FilmFile(path) as film, av.open(path) as reference:
            heard = reference.streams.audio[0]
            config = bytes(heard.codec_context.extradata or b"")
            assert film.audio() == FilmAudio(heard.channels, heard.rate, config)
            assert [(each.shown, each.data) for each in film.samples("audio")] == [
                (packet.pts, bytes(packet))
                for packet in reference.demux(heard)
                if packet.pts is not None
            ]


CUT_IN_A_PROCESS = """
import sys
from fractions import Fraction
from pathlib import Path
from framekiln.videos.hls.package import HlsPackage
from framekiln.videos.hls import service
from framekiln.media.segments.film_segments import (
    audio_bounds, audio_header, audio_segments, video_header, video_segments,
)

film, out, fps = Path(sys.argv[1]), Path(sys.argv[2]), Fraction(30)
counts = [60, 60]
header = video_header(film, fps)
HlsPackage.write(out, header, video_segments(film, header, counts, fps=fps))
bounds = audio_bounds(counts, fps=fps, rate_hz=48_000)
HlsPackage.write(out.with_suffix(".sound"), audio_header(film), audio_segments(film, bounds))
print("libav" in Path("/proc/self/maps").read_text())
"""


def test_the_api_cuts_a_film_without_loading_ffmpeg(tmp_path: Path) -> None:
    film = parts(tmp_path, VideoSettings(WIDTH, HEIGHT, Fraction(30)))[-2]
    out = tmp_path / "segments.mp4"
    done = subprocess.run(
        [sys.executable, "-c", CUT_IN_A_PROCESS, film, out],
        check=True,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.stdout.split() == ["False"]
    # What was cut is the film.
    for name, kind in ((out, "video"), (out.with_suffix(".sound"), "audio")):
        with av.open(name) as cut, av.open(film) as whole:
            expected = [bytes(each) for each in whole.demux(**{kind: 0}) if (each.pts or 0) >= 0]
            assert [bytes(each) for each in cut.demux() if each.size] == [
                each for each in expected if each
            ]


@pytest.fixture(scope="module")
def film_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("film")
    return parts(folder, VideoSettings(WIDTH, HEIGHT, Fraction(30)))[-2].read_bytes()


@pytest.mark.parametrize(
    ("kind", "at", "value", "message"),
    [
        ("stsz", 8, 0xFFFFFFFF, "at most 4000000"),
        ("stsz", 4, 0x00FFFFFF, "larger than the file"),
        ("stts", 8, 0xFFFFFFFF, "stts box is not about 120 samples"),
        ("ctts", 8, 0xFFFFFFFF, "ctts box is not about 120 samples"),
        ("stco", 8, 0xFFFFFF00, "beyond its end"),
        ("stco", 4, 0xFFFFFF00, "too short"),
        ("stsc", 4, 0, "chunks have 0 of 120 samples"),
        ("mdhd", 12, 0, "timescale of 0"),
    ],
)
def test_tables_that_lie_are_refused(
    film_bytes: bytes, tmp_path: Path, kind: str, at: int, value: int, message: str
) -> None:
    data = bytearray(film_bytes)
    struct.pack_into(">I", data, data.index(kind.encode()) + 4 + at, value)
    path = tmp_path / "film.mp4"
    path.write_bytes(data)
    with pytest.raises(UnreadableMedia, match=message), FilmFile(path) as film:
        list(film.samples("video"))


def test_a_box_beyond_the_largest_position_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(struct.pack(">I4sQ", 1, b"mdat", (1 << 64) - 1))
    with pytest.raises(UnreadableMedia, match="no moov box"):
        FilmFile(path)


def test_many_small_boxes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    children = struct.pack(">I4s", 8, b"free") * 20_000
    path.write_bytes(struct.pack(">I4s", 8 + len(children), b"moov") + children)
    with pytest.raises(UnreadableMedia, match="more than 10000 boxes"), FilmFile(path) as film:
        film.video()


@pytest.mark.parametrize("avcc", [b"", bytes(40), b"\1\x64\0\x1f\xff\xe1\0\x30" + bytes(48)])
def test_parameter_sets_without_the_depth_are_refused(avcc: bytes) -> None:
    with pytest.raises(UnreadableMedia, match="parameter set"):
        reorder_depth(avcc)
