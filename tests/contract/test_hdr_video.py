"""Films of high dynamic range look right wherever they are shown: as pages, tracks, thumbnails."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from framekiln.media.decode.frame_converter import FrameConverter, rgba_of
from framekiln.media.decode.frame_properties import bt2020_transfer_of
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.tone_mapping import Bt2020Transfer
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.tracks.split import process_video, track_path
from framekiln.pixels.colours import BT709_LIMITED
from tests.support.hdr_clips import (
    PATCH_PX,
    Nits,
    make_patches,
    patch_centres,
    picture_of,
    pq_signal,
)
from tests.support.looks import decode_frames, measure_file

GREY_OF = {0.0: 0, 26.0: 108, 100.0: 190, 203.0: 230, 1000.0: 255}
"""What the recommendation makes of greys, for a peak of 1000 nits."""
GREYS: list[Nits] = [(nits, nits, nits) for nits in GREY_OF]
# The reds, greens and blues of BT.709 at 40 nits, as BT.2020 says them.
COLOURS: list[Nits] = [(25.1, 2.76, 0.66), (13.2, 36.8, 3.52), (1.73, 0.45, 35.8)]
COLOUR_LEVEL = 255 * (40 / 203) ** (1 / 2.4)
PATCHES = [*GREYS, *COLOURS]
WIDTH = PATCH_PX * len(PATCHES)
MASTERED_AT_4000 = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(40000000,50)"


@pytest.fixture(scope="module", params=["pq", "hlg"])
def film(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hdr")
    return make_patches(folder / f"{request.param}.mp4", PATCHES, request.param)


def check_patches(rgb: np.ndarray, *, off: int) -> None:
    colours = patch_centres(rgb, len(PATCHES))
    for colour, wanted in zip(colours, GREY_OF.values(), strict=False):
        assert np.abs(colour - wanted).max() <= off
        assert np.ptp(colour) <= off
    primaries = np.eye(3) * COLOUR_LEVEL
    assert np.abs(colours[len(GREYS) :] - primaries).max() <= 4 * off


def test_frames_for_pages_and_layers_are_tone_mapped(film: Path) -> None:
    for width, height in ((WIDTH, PATCH_PX), (WIDTH // 2, PATCH_PX // 2)):
        with FrameSource(film, width_px=width, height_px=height) as source:
            check_patches(source.rgba_at(Fraction(100)), off=4)
            planes = source.yuv_at(Fraction(100))
        middle = planes.luma[height // 2, width // (2 * len(PATCHES)) :: width // len(PATCHES)]
        wanted = [16 + level * 219 / 255 for level in GREY_OF.values()]
        assert np.abs(middle[: len(GREYS)] - wanted).max() <= 3
        assert planes.alpha is None


@pytest.mark.parametrize("width", [214, 213, 100])
def test_the_last_columns_of_a_scaled_picture_are_the_first_of_the_mirrored_one(width: int) -> None:
    dots = np.random.default_rng(0).choice([64, 940], (180, 320)).astype(np.uint16)
    rows = []
    for luma in (dots, dots[:, ::-1]):
        frame = picture_of(np.stack([luma, *np.full((2, 180, 320), 512, np.uint16)]))
        # BT.2020, PQ.
        frame.color_primaries, frame.color_trc, frame.colorspace = 9, 16, 9
        rows.append(FrameConverter(width, 120).to_rgba(frame)[..., 0].astype(int))
    assert np.abs(rows[0] - rows[1][:, ::-1]).max() <= 12


@pytest.mark.parametrize("size", [(64, 32), (32, 16)])
def test_a_picture_in_rgb_is_mapped_as_one_in_planes(size: tuple[int, int]) -> None:
    for nits, wanted in zip(COLOURS, np.eye(3) * COLOUR_LEVEL, strict=True):
        codes = np.rint(1023 * pq_signal(np.array(nits))).astype(np.uint16)
        frame = av.VideoFrame(64, 32, "gbrp10le")
        for plane, number in zip(frame.planes, (1, 2, 0), strict=True):
            plane.update(np.full(plane.buffer_size // 2, codes[number], np.uint16).tobytes())
        # BT.2020, PQ.
        frame.color_primaries, frame.color_trc = 9, 16
        conversion = FrameConverter(*size)
        planes = conversion.to_planes(frame)
        for rgba in (conversion.to_rgba(frame), rgba_of(planes, BT709_LIMITED)):
            assert np.abs(rgba[..., :3] - wanted).max() <= 16


def test_tracks_and_thumbnails_are_tone_mapped(film: Path, tmp_path: Path) -> None:
    made = process_video(film, tmp_path, report=lambda _: None)
    assert made.tracks[0].reason is not None
    for track_id in (1, -1):
        path = track_path(tmp_path, track_id)
        look = measure_file(path).video
        assert look is not None
        assert (look.primaries, look.transfer, look.matrix) == ("bt709", "bt709", "bt709")
        assert (look.pix_fmt, look.colour_range) == ("yuv420p", "limited")
        check_patches(decode_frames(path)[2].rgb, off=8)
    check_patches(np.asarray(Image.open(tmp_path / "thumbnails.jpg").convert("RGB")), off=12)


def test_mastering_peak_metadata_is_used(tmp_path: Path) -> None:
    bright = make_patches(tmp_path / "a.mp4", GREYS, "pq", mastered=MASTERED_AT_4000)
    plain = make_patches(tmp_path / "b.mp4", GREYS, "pq")
    assert [_light(path).peak_nits for path in (bright, plain)] == [4000, 1000]
    with FrameSource(bright, width_px=PATCH_PX * len(GREYS), height_px=PATCH_PX) as source:
        levels = patch_centres(source.rgba_at(Fraction(0)), len(GREYS))[:, 1]
    # Room is left above for what is brighter than 1000 nits.
    assert levels[:2].tolist() == pytest.approx([0, 108], abs=3)
    assert 195 <= levels[3] <= 220
    assert 245 <= levels[4] < 255


def _light(path: Path) -> Bt2020Transfer:
    with VideoDecoder(path) as decoder:
        frame = decoder.read()
        assert frame is not None
        light = bt2020_transfer_of(frame)
    assert light is not None
    return light


def wide_colours(path: Path, transfer: int) -> Path:
    """A picture of ordinary light in BT.2020: a grey, and a red that BT.709 has, too."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"qp": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
        stream.codec_context.color_primaries = stream.codec_context.colorspace = 9
        stream.codec_context.color_trc, stream.codec_context.color_range = transfer, 1
        linear = np.array([[0.2140, 0.2140, 0.2140], [0.6274, 0.0691, 0.0164]])
        red, green, blue = (linear ** (1 / 2.4)).T
        luma = 0.2627 * red + 0.678 * green + 0.0593 * blue
        codes = (
            16 + 219 * luma,
            128 + 224 * (blue - luma) / 1.8814,
            128 + 224 * (red - luma) / 1.4746,
        )
        stacked = np.zeros((48, 64), np.uint8)
        stacked[:32] = codes[0].round().repeat(32)
        chroma = stacked[32:].reshape(2, 16, 32)
        chroma[0], chroma[1] = codes[1].round().repeat(16), codes[2].round().repeat(16)
        for number in range(5):
            frame = av.VideoFrame.from_ndarray(stacked, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 10)
            frame.color_primaries = frame.colorspace = 9
            frame.color_trc, frame.color_range = transfer, 1
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("transfer", [1, 14], ids=["bt709", "bt2020-10"])
def test_wide_colours_of_ordinary_light_become_those_of_bt709(
    tmp_path: Path, transfer: int
) -> None:
    path = wide_colours(tmp_path / "a.mp4", transfer)
    with FrameSource(path, width_px=64, height_px=32) as source:
        grey, red = patch_centres(source.rgba_at(Fraction(0)), 2)
    assert np.abs(grey - 134).max() <= 3
    assert red[0] >= 250
    assert red[1:].max() <= 25


@pytest.mark.parametrize(
    "make",
    [
        lambda path: make_patches(path, GREYS, "hlg"),
        lambda path: wide_colours(path, 18),
    ],
    ids=["10 bits", "8 bits"],
)
def test_hdr_video_is_encoded_even_if_browsers_play_its_codec(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    made = process_video(make(tmp_path / "a.mp4"), tmp_path / "made", report=lambda _: None)
    assert not made.tracks[0].is_copied
