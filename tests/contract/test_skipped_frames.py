"""Repetitions that bypass the encoder: pictures, times, keyframes, and what they save."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import av
import numpy as np
import pytest
from av.video.frame import PictureType

from framekiln.capture.browser import Browser
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.media.decode.frame_properties import planes_of
from framekiln.media.encode.film_encoder import (
    FilmEncoder,
    Pixels,
    VideoSettings,
    configure_video,
)
from framekiln.media.encode.h264_slices import StreamFormat
from framekiln.media.encode.skipped_frames import (
    FrameSchedule,
    FrameType,
    SkippedFrames,
    UnexpectedPacket,
)
from framekiln.pixels.conversion import bgra_to_yuv420
from framekiln.renders.slice_worker import ReopenableRenderer
from tests.support.looks import decode_frames
from tests.support.timeouts import FILM_LIMITS

# A picture, and for how many frames it is shown.
Shown = tuple[Pixels, int]
FPS = {(320, 180): Fraction(30), (66, 50): Fraction(30000, 1001)}
PRESETS = ("superfast", "veryfast", "medium")
COUNTS = (1, 1, 1, 2, 9, 10, 11, 21, 22, 23, 34, 61, 130)


def shown_pictures(seed: int, size: tuple[int, int]) -> Iterator[Shown]:
    """Yield pictures that differ from others by a cut, a motion, their light or a part."""
    random = Random(seed)
    width, height = size
    tones = np.random.default_rng(seed)

    def cut() -> Pixels:
        coarse = tones.integers(0, 255, (height // 8 + 1, width // 8 + 1, 4), np.uint8)
        return coarse.repeat(8, axis=0).repeat(8, axis=1)[:height, :width].copy()

    picture = cut()
    for _ in range(12):
        kind = random.randrange(4)
        if kind == 0:
            picture = cut()
        elif kind == 1:
            picture = np.roll(picture, (2, 3), (0, 1))
        elif kind == 2:
            picture = np.clip(picture.astype(int) + random.randrange(-20, 20), 0, 255)
            picture = picture.astype(np.uint8)
        else:
            picture = picture.copy()
            picture[: height // 3, width // 3 : width // 2] = random.randrange(255)
        yield picture, random.choice(COUNTS)


def write_film(path: Path, settings: VideoSettings, shown: list[Shown]) -> None:
    with FilmEncoder(path, settings) as encoder:
        for picture, count in shown:
            buffer = encoder.buffer()
            buffer[...] = picture
            encoder.write(buffer)
            for _ in range(count - 1):
                encoder.repeat()


def encode_scheduled(path: Path, settings: VideoSettings, shown: list[Shown]) -> list[int]:
    """Encode only what the encoder gets; return its places in the film."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=settings.fps)
        configure_video(stream.codec_context, settings)
        stream.codec_context.open(strict=False)
        format_ = StreamFormat.read(stream.codec_context.extradata or b"")
        schedule = FrameSchedule.of(format_, keyframe_every=stream.codec_context.gop_size)
        frames: list[av.VideoFrame] = []

        def encode(due: list[tuple[int, FrameType]]) -> None:
            for place, frame_type in due:
                frame = frames[place]
                frame.pts, frame.time_base = schedule.places.index(place), 1 / settings.fps
                frame.pict_type = frame_type.value
                container.mux(stream.encode(frame))

        for picture, count in shown:
            frame = av.VideoFrame(settings.width_px, settings.height_px, "yuv420p")
            bgra_to_yuv420(np.ascontiguousarray(picture), planes_of(frame))
            for number in range(count):
                frames.append(frame)
                encode(schedule.add(is_repeat=number > 0))
        encode(schedule.end())
        container.mux(stream.encode(None))
    return schedule.places


def decoded(path: Path) -> list[av.VideoFrame]:
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.options = {"err_detect": "explode"}
        return list(container.decode(video=0))


def planes(frame: av.VideoFrame) -> Pixels:
    return np.asarray(frame.to_ndarray(format="yuv420p"), np.uint8)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("size", FPS, ids=str)
def test_every_frame_has_the_pixels_that_the_encoder_gave_its_picture(
    tmp_path: Path, preset: str, size: tuple[int, int]
) -> None:
    """As if the packets of the encoder were decoded alone, each shown until the next one."""
    settings = VideoSettings(*size, FPS[size], preset=preset)
    shown = list(shown_pictures(len(preset) + size[0], size))
    write_film(tmp_path / "film.mp4", settings, shown)
    places = encode_scheduled(tmp_path / "encoded.mp4", settings, shown)
    film, encoded = decoded(tmp_path / "film.mp4"), decoded(tmp_path / "encoded.mp4")
    assert len(encoded) == len(places) < len(film) == sum(count for _, count in shown)
    latest = np.searchsorted(places, np.arange(len(film)), side="right") - 1
    for number, frame in enumerate(film):
        assert not frame.is_corrupt
        assert Fraction(frame.pts or 0) * Fraction(frame.time_base or 0) == number / settings.fps
        assert np.array_equal(planes(frame), planes(encoded[latest[number]])), number


def test_packets_are_decoded_before_they_are_shown_and_keyframes_stay_close(tmp_path: Path) -> None:
    settings = VideoSettings(320, 180, Fraction(30))
    shown = list(shown_pictures(5, (320, 180)))
    write_film(tmp_path / "film.mp4", settings, shown)
    with av.open(str(tmp_path / "film.mp4")) as container:
        packets = [each for each in container.demux(video=0) if each.size]
        frame_ticks = packets[0].duration or 0
    stamps = [(each.pts or 0, each.dts or 0) for each in packets]
    assert all(shown_at >= decoded_at for shown_at, decoded_at in stamps)
    assert {later[1] - earlier[1] for earlier, later in pairwise(stamps)} == {frame_ticks}
    keys = sorted(each.pts or 0 for each in packets if each.is_keyframe)
    ends = [*keys[1:], frame_ticks * len(packets)]
    assert max(end - key for key, end in zip(keys, ends, strict=True)) <= 60 * frame_ticks


def test_the_encoder_gets_few_frames_of_a_picture_that_stays(tmp_path: Path) -> None:
    settings = VideoSettings(320, 180, Fraction(30))
    [(picture, _), *_] = shown_pictures(1, (320, 180))
    places = encode_scheduled(tmp_path / "still.mp4", settings, [(picture, 120)])
    assert len(places) < 30


def test_the_encoder_gets_all_frames_if_the_bit_rate_is_given(tmp_path: Path) -> None:
    """It keeps to the rate by counting them."""
    settings = VideoSettings(320, 180, Fraction(30), bits_per_s=200_000)
    [(picture, _), *_] = shown_pictures(1, (320, 180))
    write_film(tmp_path / "still.mp4", settings, [(picture, 50)])
    with av.open(str(tmp_path / "still.mp4")) as container:
        types = [frame.pict_type for frame in container.decode(video=0)]
    assert types.count(PictureType.B) > 25


# Red, and blue after a second and a half.
STILL_PAGE = FilmOrder(
    "<style>@keyframes cut { to { background: #00f } }"
    " body { background: #f00; animation: cut 1.5s step-end forwards }</style>",
    320,
    180,
    fps=Fraction(30),
    duration_ms=2000,
)


@pytest.fixture
def _other_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder makes B-frames of the frames that have to be references."""
    monkeypatch.setattr(SkippedFrames, "is_trusted", True)
    monkeypatch.setattr(FrameType.REFERENCE, "_value_", PictureType.NONE)


@pytest.mark.usefixtures("_other_encoder")
def test_an_encoder_with_other_packets_gets_all_frames_from_then_on(tmp_path: Path) -> None:
    settings = VideoSettings(320, 180, Fraction(30))
    shown = [(picture, 60) for picture, _ in shown_pictures(3, (320, 180))][:2]
    with pytest.raises(UnexpectedPacket, match="would not lie between references"):
        write_film(tmp_path / "film.mp4", settings, shown)
    write_film(tmp_path / "film.mp4", settings, shown)
    assert len(decoded(tmp_path / "film.mp4")) == 120
    assert psnr(tmp_path / "film.mp4", shown) > 40


@pytest.mark.usefixtures("_other_encoder")
def test_a_film_is_made_again_if_the_packets_of_the_encoder_are_others(
    browser: Browser, tmp_path: Path
) -> None:
    make_film(STILL_PAGE, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    require_cut(tmp_path / "film.mp4")


@pytest.mark.usefixtures("_other_encoder")
def test_a_slice_is_made_again_if_the_packets_of_the_encoder_are_others(
    browser: Browser, tmp_path: Path
) -> None:
    with ReopenableRenderer(STILL_PAGE, browser, FILM_LIMITS, plan=None) as renderers:
        renderers.render_slice(FilmSlice(0, 0, 60), tmp_path / "0.mp4", lambda _: None)
    require_cut(tmp_path / "0.mp4")


def require_cut(path: Path) -> None:
    assert not SkippedFrames.is_trusted
    colours = [tuple(frame.rgb[90, 160] > 128) for frame in decode_frames(path)]
    assert colours == [(True, False, False)] * 45 + [(False, False, True)] * 15


def test_a_picture_that_stays_is_as_close_to_the_original_as_from_the_encoder(
    tmp_path: Path,
) -> None:
    """Within a tenth of a decibel of a film all of whose frames were encoded."""
    settings = VideoSettings(320, 180, Fraction(30))
    shown = [(picture, 60) for picture, _ in shown_pictures(3, (320, 180))][:4]
    write_film(tmp_path / "film.mp4", settings, shown)
    with av.open(str(tmp_path / "all.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=settings.fps)
        configure_video(stream.codec_context, settings)
        for number in range(240):
            frame = av.VideoFrame(320, 180, "yuv420p")
            bgra_to_yuv420(np.ascontiguousarray(shown[number // 60][0]), planes_of(frame))
            frame.pts, frame.time_base = number, 1 / settings.fps
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert psnr(tmp_path / "film.mp4", shown) > psnr(tmp_path / "all.mp4", shown) - 0.1


def psnr(path: Path, shown: list[Shown]) -> float:
    """Return the mean over all frames, each held against its picture."""
    values = []
    for number, frame in enumerate(decoded(path)):
        original = av.VideoFrame(frame.width, frame.height, "yuv420p")
        bgra_to_yuv420(np.ascontiguousarray(shown[number // 60][0]), planes_of(original))
        error = np.mean((planes(frame).astype(float) - planes(original)) ** 2)
        values.append(10 * np.log10(255**2 / error))
    return float(np.mean(values))
