"""Measurements of pictures and files agree with values worked out by hand."""

from fractions import Fraction
from math import inf
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace

from tests.support.clips import Clip, make_clip, make_still
from tests.support.frame_codes import PALETTE, Picture, cells_of, read_frame_code
from tests.support.looks import colour_at, decode_frames, measure_file, pictures_at, psnr, ssim


@pytest.fixture(scope="module")
def texture() -> Picture:
    return np.random.default_rng(7).integers(0, 256, (64, 80, 3), dtype=np.uint8)


def test_colour_at_is_the_mean_of_a_square() -> None:
    picture = np.zeros((9, 9, 3), np.uint8)
    picture[4, 4] = (250, 100, 25)
    assert colour_at(picture, 4, 4, radius=0) == (250, 100, 25)
    assert colour_at(picture, 4, 4, radius=2) == (10, 4, 1)


def test_colour_at_takes_x_before_y_and_stops_at_the_edge() -> None:
    picture = np.zeros((10, 20, 3), np.uint8)
    picture[0:3, 17:20] = (9, 90, 200)
    assert colour_at(picture, 19, 0, radius=2) == (9, 90, 200)


def test_pictures_are_found_by_their_numbers(tmp_path: Path) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1, 3)))
    numbers = [read_frame_code(picture) for picture in pictures_at(clip, [7, 0, 7])]
    assert numbers == [7, 0, 7]


def test_psnr_of_known_differences(texture: Picture) -> None:
    flat = np.full((16, 16, 3), 100, np.uint8)
    assert psnr(texture, texture) == inf
    assert psnr(flat, flat + np.uint8(5)) == pytest.approx(34.1514, abs=1e-4)


def test_ssim_of_flat_pictures_is_the_luminance_term() -> None:
    a = np.full((20, 20, 3), 100, np.uint8)
    b = np.full((20, 20, 3), 150, np.uint8)
    c1 = 2.55**2
    assert ssim(a, b) == pytest.approx((2 * 100 * 150 + c1) / (100**2 + 150**2 + c1))


def test_ssim_matches_a_window_summed_by_hand(texture: Picture) -> None:
    """One window only: the 11 x 11 picture makes every sum visible."""
    a = texture[:11, :11, 1].astype(float)
    b = texture[20:31, 20:31, 1].astype(float)
    line = np.exp(-((np.arange(11) - 5.0) ** 2) / 4.5)
    weights = np.outer(line, line) / np.outer(line, line).sum()
    mean_a, mean_b = (weights * a).sum(), (weights * b).sum()
    var_a, var_b = (weights * (a - mean_a) ** 2).sum(), (weights * (b - mean_b) ** 2).sum()
    covariance = (weights * (a - mean_a) * (b - mean_b)).sum()
    c1, c2 = 2.55**2, 7.65**2
    expected = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)) / (
        (mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2)
    )
    assert ssim(texture[:11, :11, 1], texture[20:31, 20:31, 1]) == pytest.approx(expected)


def test_ssim_orders_pictures_by_damage(texture: Picture) -> None:
    noise = np.random.default_rng(8).integers(-30, 31, texture.shape)
    little = np.clip(texture + noise // 6, 0, 255).astype(np.uint8)
    much = np.clip(texture + noise, 0, 255).astype(np.uint8)
    assert ssim(texture, texture) == pytest.approx(1)
    assert 1 > ssim(texture, little) > ssim(texture, much) > ssim(texture, texture[::-1])


@pytest.mark.parametrize("measure", [ssim, psnr])
def test_pictures_of_different_shape_are_refused(texture: Picture, measure: object) -> None:
    assert callable(measure)
    with pytest.raises(ValueError, match="differ in shape"):
        measure(texture, texture[:, 1:])


def test_ssim_refuses_pictures_smaller_than_its_window(texture: Picture) -> None:
    with pytest.raises(ValueError, match="smaller than"):
        ssim(texture[:10], texture[:10])


@pytest.mark.parametrize(
    ("matrix", "yuv_of_green"),
    [(Colorspace.ITU709, (173, 42, 26)), (Colorspace.ITU601, (145, 54, 34))],
)
def test_colours_are_converted_by_the_tagged_matrix(
    tmp_path: Path, matrix: Colorspace, yuv_of_green: tuple[int, int, int]
) -> None:
    path = tmp_path / "green.mp4"
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "1"})
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        # AVColorSpace: 1 is BT.709, 6 is BT.601 (SMPTE 170M).
        stream.colorspace = 1 if matrix is Colorspace.ITU709 else 6
        stream.color_range = ColorRange.MPEG
        y, u, v = yuv_of_green
        planes = np.concatenate(
            [np.full(64 * 64, y), np.full(32 * 32, u), np.full(32 * 32, v)]
        ).reshape(96, 64)
        frame = av.VideoFrame.from_ndarray(planes.astype(np.uint8), format="yuv420p")
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    (decoded,) = decode_frames(path)
    np.testing.assert_allclose(colour_at(decoded.rgb, 32, 32), (0, 255, 0), atol=3)


def test_colours_of_clips_survive_encoding(flash_clip: Path) -> None:
    frame = decode_frames(flash_clip)[0]
    cell = cells_of(320, 240)[0]
    x, y = (cell.left + cell.right) // 2, (cell.top + cell.bottom) // 2
    np.testing.assert_allclose(colour_at(frame.rgb, x, y), PALETTE[0], atol=6)
    np.testing.assert_allclose(colour_at(frame.rgb, 20, 20), (255, 255, 255), atol=3)


def test_probe_of_a_clip(flash_clip: Path) -> None:
    found = measure_file(flash_clip)
    video, audio = found.video, found.audio
    assert video
    assert audio
    assert (video.codec, video.pix_fmt, video.width, video.height) == ("h264", "yuv420p", 320, 240)
    assert (video.primaries, video.transfer, video.matrix) == ("bt709", "bt709", "bt709")
    assert video.colour_range == "limited"
    assert (video.fps, video.is_constant_rate, video.frame_count) == (Fraction(30), True, 60)
    assert video.start_s == 0
    assert video.duration_s == found.duration_s == 2
    assert (audio.codec, audio.profile, audio.rate_hz, audio.channels) == ("aac", "LC", 48_000, 2)
    assert audio.duration_s == 2
    assert found.is_faststart is True


def test_probe_sees_rates_and_layout(tmp_path: Path) -> None:
    ntsc = Clip(
        width=128,
        height=96,
        fps=Fraction(30000, 1001),
        b_frames=2,
        sample_rate_hz=44_100,
        channels=1,
        faststart=False,
    )
    found = measure_file(make_clip(tmp_path / "ntsc.mp4", ntsc))
    assert found.video
    assert found.audio
    assert (found.video.fps, found.video.is_constant_rate) == (Fraction(30000, 1001), True)
    assert (found.audio.rate_hz, found.audio.channels) == (44_100, 1)
    assert found.is_faststart is False


def test_probe_notices_a_variable_rate(tmp_path: Path) -> None:
    clip = Clip(width=128, height=96, variable_rate=True)
    video = measure_file(make_clip(tmp_path / "variable.mp4", clip)).video
    assert video
    assert not video.is_constant_rate
    assert video.frame_count == len(clip.frame_numbers)


def test_milliseconds_in_a_container_still_count_as_constant(tmp_path: Path) -> None:
    found = measure_file(make_clip(tmp_path / "clip.mkv", Clip(width=128, height=96)))
    assert found.video
    assert found.video.is_constant_rate
    assert float(found.video.fps) == pytest.approx(30, abs=0.02)
    assert found.is_faststart is None


@pytest.mark.parametrize(
    ("suffix", "codec"), [(".png", "png"), (".jpg", "mjpeg"), (".webp", "webp")]
)
def test_probe_of_a_still(tmp_path: Path, suffix: str, codec: str) -> None:
    found = measure_file(make_still(tmp_path / f"still{suffix}", width=100, height=60))
    assert found.video
    assert (found.video.codec, found.video.frame_count) == (codec, 1)
    assert (found.video.width, found.video.height) == (100, 60)
    assert found.audio is None
