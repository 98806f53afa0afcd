"""Films that are no MP4, and how many bytes they take: made of configs, then decoded."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageSequence

from framekiln.capture.browser import Browser
from framekiln.media.decode.frame_source import FrameSource
from tests.support.clips import write_picture
from tests.support.layer_films import config_of, film_of
from tests.support.layer_media import TONE, layer_media, rect, video
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sounds import av_offset_ms, decode_audio, rms

Pictures = list[NDArray[np.uint8]]
SIZE = {"dimensions": {"width": 160, "height": 96}}
# Longer than a slice, at a rate that no millisecond fits.
LONG = {**SIZE, "duration": 4.5, "fps": 29.97}
FRAMES = 135


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


def moving(**more: Any) -> dict[str, Any]:
    """A red box that crosses the picture in four and a half seconds."""
    keys = [{"type": "x", "options": {"time": at, "value": x}} for at, x in ((0, 0), (4.5, 120))]
    return rect("#ff0000", (0, 0, 40, 96), transitions=keys, **more)


def pictures(path: Path) -> tuple[Pictures, list[Fraction]]:
    """Every frame as RGBA and its time, decoded by whoever knows alpha."""
    with av.open(path) as container:
        stream = container.streams.video[0]
        assert stream.time_base is not None
        context = stream.codec_context
        decoder = av.CodecContext.create("libvpx-vp9", "r") if context.name == "vp9" else context
        frames = []
        for packet in container.demux(stream):
            frames += decoder.decode(packet if packet.size else None)
        shown, times = [], []
        for frame in frames:
            assert frame.pts is not None
            rgba = frame.reformat(format="rgba", src_colorspace=1)
            shown.append(np.asarray(rgba.to_ndarray(), np.uint8))
            times.append(frame.pts * stream.time_base)
        return shown, times


def near(pixel: NDArray[np.uint8], wanted: tuple[int, ...], slack: int = 8) -> bool:
    return bool((np.abs(pixel.astype(int) - wanted) <= slack).all())


@pytest.mark.parametrize("extension", ["webm", "mov"])
def test_alpha_comes_through_and_every_frame_is_there_once(
    browser: Browser, assets: LocalAssets, tmp_path: Path, extension: str
) -> None:
    half = rect("#0000ff", (0, 0, 160, 20), opacity=0.5)
    config = config_of(moving(), half, backgroundColor="transparent", extension=extension, **LONG)
    path = film_of(config, browser, assets, tmp_path / f"a.{extension}")
    shown, times = pictures(path)
    assert len(shown) == FRAMES
    # WebM counts milliseconds.
    gaps = [abs(at - n * Fraction(1001, 30000)) for n, at in enumerate(times)]
    assert max(gaps) <= Fraction(1, 1000)
    assert near(shown[0][60, 20], (255, 0, 0, 255))
    assert shown[0][60, 100, 3] == 0
    assert near(shown[0][10, 120], (0, 0, 255, 128))
    assert near(shown[-1][60, 130], (255, 0, 0, 255))
    assert shown[-1][60, 20, 3] == 0
    # And whoever takes it as a source sees through it too.
    with FrameSource(path, width_px=160, height_px=96) as source:
        assert near(source.rgba_at(Fraction(0))[10, 120], (0, 0, 255, 128))


@pytest.mark.parametrize(("extension", "codecs"), [("webm", ("vp9", "opus")), ("mov", None)])
def test_pictures_and_sound_of_a_clip_stay_together(
    browser: Browser,
    assets: LocalAssets,
    tmp_path: Path,
    extension: str,
    codecs: tuple[str, str] | None,
) -> None:
    config = config_of(video(size={"format": "stretch"}), extension=extension, **SIZE)
    path = film_of(config, browser, assets, tmp_path / f"a.{extension}")
    assert abs(av_offset_ms(path)) < 5
    with av.open(path) as container:
        names = tuple(stream.codec_context.name for stream in container.streams)
        assert names == (codecs or ("prores", "pcm_s16le"))
        assert container.streams.video[0].codec_context.pix_fmt in ("yuv420p", "yuv422p10le")
    sound = decode_audio(path)
    assert sound.mono.shape[0] / sound.rate_hz == pytest.approx(2, abs=0.03)


def test_a_gif_has_the_colours_of_the_whole_film_and_is_clear_where_nothing_is(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    late = rect("#00c800", (0, 0, 160, 20), timeline={"start": 4.2})
    config = config_of(moving(), late, backgroundColor="#00000000", extension="gif", **LONG)
    path = film_of(config, browser, assets, tmp_path / "a.gif")
    shown, times = pictures(path)
    assert len(shown) == FRAMES
    assert times[-1] == pytest.approx(4.47, abs=0.02)
    assert near(shown[0][60, 20], (255, 0, 0, 255))
    assert shown[0][60, 100, 3] == 0
    assert near(shown[-1][10, 80], (0, 200, 0, 255))
    assert near(shown[-1][60, 130], (255, 0, 0, 255))
    assert shown[-1][60, 20, 3] == 0
    assert path.read_bytes()[:6] == b"GIF89a"
    with Image.open(path) as gif:
        shown_ms = [frame.info["duration"] for frame in ImageSequence.Iterator(gif)]
    assert shown_ms[-1] in (30, 40), "the last frame is as long as the others"
    assert sum(shown_ms) == 4500


def test_a_gif_faster_than_viewers_leaves_frames_out_but_not_time(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    config = config_of(moving(), extension="gif", **{**SIZE, "duration": 1, "fps": 120})
    _, times = pictures(film_of(config, browser, assets, tmp_path / "a.gif"))
    steps = [after - before for before, after in pairwise(times)]
    assert min(steps) >= Fraction(2, 100)
    assert times[-1] >= Fraction(95, 100)


@pytest.mark.parametrize("extension", ["mp4", "webm", "mov", "gif"])
def test_the_same_config_gives_the_same_bytes(
    browser: Browser, assets: LocalAssets, tmp_path: Path, extension: str
) -> None:
    config = config_of(moving(), extension=extension, **{**SIZE, "duration": 1, "fps": 10})
    one, two = (film_of(config, browser, assets, tmp_path / f"{n}.x") for n in (1, 2))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("extension", ["webm", "mov", "gif"])
def test_frames_are_found_in_every_film(
    browser: Browser, assets: LocalAssets, tmp_path: Path, extension: str
) -> None:
    config = config_of(moving(), extension=extension, backgroundColor="#0000ff", **LONG)
    path = film_of(config, browser, assets, tmp_path / f"a.{extension}")
    with FrameSource(path, width_px=160, height_px=96) as source:
        at_start, at_end = (source.rgba_at(Fraction(ms)).copy() for ms in (0, 4400))
    assert near(at_start[60, 20], (255, 0, 0, 255), 12)
    assert near(at_start[60, 100], (0, 0, 255, 255), 12)
    assert near(at_end[60, 130], (255, 0, 0, 255), 12)


class TestBytes:
    """The `output` of a config."""

    @staticmethod
    def made(
        browser: Browser,
        folder: Path,
        extension: str = "mp4",
        preset: str = "standard",
        fps: int = 12,
        **output: Any,
    ) -> Path:
        """Turn sand for six seconds, which is one slice and a half."""
        sand = LocalAssets(folder, {"sand.png": write_sand})
        turns = [{"type": "angle", "options": {"time": at, "value": 60 * at}} for at in (0, 6)]
        layer = {"type": "image", "file": MEDIA_ORIGIN + "sand.png", "transitions": turns}
        config = config_of(
            {**layer, "position": {"x": "center", "y": "center"}},
            dimensions={"width": 160, "height": 96},
            duration=6,
            fps=fps,
            extension=extension,
            preset=preset,
            output=output,
        )
        return film_of(config, browser, sand, folder / f"a.{extension}")

    @staticmethod
    def bits_per_s(path: Path) -> float:
        with av.open(path) as container:
            return 8 * sum(packet.size for packet in container.demux(video=0)) / 6

    def test_a_slower_preset_and_a_lower_crf_give_more_bytes(
        self, browser: Browser, tmp_path: Path
    ) -> None:
        ways: list[dict[str, Any]] = [{"crf": 40.5}, {}, {}]
        presets = ["standard", "draft", "high"]
        sizes = [
            self.bits_per_s(self.made(browser, tmp_path, preset=preset, **way))
            for preset, way in zip(presets, ways, strict=True)
        ]
        assert sizes == sorted(sizes)
        assert sizes[2] > 1.2 * sizes[1] > 1.2 * sizes[0]

    def test_crf_zero_gives_a_playable_film(self, browser: Browser, tmp_path: Path) -> None:
        with av.open(self.made(browser, tmp_path, crf=0)) as container:
            assert container.streams.video[0].codec_context.profile == "High"

    @pytest.mark.parametrize("extension", ["mp4", "webm"])
    def test_the_configured_bit_rate_is_kept(
        self, browser: Browser, tmp_path: Path, extension: str
    ) -> None:
        # Rate control needs some frames to get there.
        path = self.made(browser, tmp_path, extension, fps=25, videoBitrate=500_000)
        assert self.bits_per_s(path) == pytest.approx(500_000, rel=0.15)


def write_sand(path: Path) -> None:
    """Grains that no encoder can foresee once they turn."""
    grains = np.random.default_rng(4).integers(0, 256, (200, 200, 3), np.uint8)
    write_picture(path, grains.repeat(2, axis=0).repeat(2, axis=1))


def test_the_sound_of_a_webm_is_as_loud_as_its_source(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    config = config_of({"type": "audio", "file": TONE}, extension="webm", **SIZE)
    heard = decode_audio(film_of(config, browser, assets, tmp_path / "a.webm")).mono
    assert rms(heard[24_000:72_000]) == pytest.approx(0.25 / np.sqrt(2), rel=0.05)
