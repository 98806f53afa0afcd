"""Stills keep their colours, their transparency and the quality asked for."""

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from framekiln.media.images.stills import (
    JpegFormat,
    PngFormat,
    StillFormat,
    WebpFormat,
    decode_bgra,
    encode_still,
)

FORMATS: list[StillFormat] = [JpegFormat(95), PngFormat(), WebpFormat(95)]


def colours() -> NDArray[np.uint8]:
    """Four quarters: red, green, blue, grey; opaque BGRA."""
    pixels = np.full((64, 96, 4), 255, np.uint8)
    pixels[:32, :48, :3] = (0, 0, 255)
    pixels[:32, 48:, :3] = (0, 255, 0)
    pixels[32:, :48, :3] = (255, 0, 0)
    pixels[32:, 48:, :3] = (128, 128, 128)
    return pixels


def noise() -> NDArray[np.uint8]:
    """A picture that costs bytes, smooth enough for quality to matter."""
    steps = np.random.default_rng(5).integers(-12, 13, (128, 128, 4))
    pixels = np.clip(128 + np.cumsum(np.cumsum(steps, axis=0), axis=1) // 8, 0, 255)
    pixels[..., 3] = 255
    return pixels.astype(np.uint8)


def opened(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: type(f).__name__)
def test_colours_survive_encoding(format_: StillFormat) -> None:
    pixels = colours()
    data = encode_still(pixels, format_)
    for seen in (decode_bgra(data)[..., :3], np.asarray(opened(data).convert("RGB"))[..., ::-1]):
        for y, x in ((16, 24), (16, 72), (48, 24), (48, 72)):
            assert np.abs(seen[y, x].astype(int) - pixels[y, x, :3]).max() <= 4


def test_a_png_loses_nothing() -> None:
    pixels = noise()
    assert np.array_equal(decode_bgra(encode_still(pixels, PngFormat())), pixels)


@pytest.mark.parametrize("format_", [PngFormat(transparency=True), WebpFormat(transparency=True)])
def test_transparency_is_kept_when_asked_for(format_: StillFormat) -> None:
    pixels = colours()
    pixels[:32, :, 3] = 64
    alpha = np.asarray(opened(encode_still(pixels, format_)))[..., 3]
    assert (alpha[:32] == 64).all()
    assert (alpha[32:] == 255).all()


@pytest.mark.parametrize("format_", FORMATS, ids=lambda f: type(f).__name__)
def test_formats_without_alpha_have_a_white_background(format_: StillFormat) -> None:
    pixels = colours()
    pixels[:32, :48, 3] = 0
    picture = opened(encode_still(pixels, format_))
    assert picture.mode == "RGB"
    assert np.abs(np.asarray(picture)[16, 24].astype(int) - 255).max() <= 3


def test_jpeg_quality_is_that_of_libjpeg() -> None:
    """At 80 the first luma step of libjpeg's table, 16, becomes 6; chroma is halved."""
    picture = opened(encode_still(noise(), JpegFormat(80)))
    assert picture.quantization[0][0] == 6  # type: ignore[attr-defined]
    assert picture.layer[0][1:3] == (2, 2)  # type: ignore[attr-defined]
    assert picture.layer[1][1:3] == (1, 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [JpegFormat, WebpFormat])
def test_higher_quality_is_larger_and_more_exact(kind: type[JpegFormat] | type[WebpFormat]) -> None:
    pixels = noise()
    sizes, errors = [], []
    for quality in (1, 40, 80, 100):
        data = encode_still(pixels, kind(quality=quality))
        sizes.append(len(data))
        errors.append(np.abs(decode_bgra(data).astype(int) - pixels).mean())
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)


def test_more_compression_is_smaller() -> None:
    pixels = np.tile(noise(), (4, 4, 1))
    assert len(encode_still(pixels, PngFormat(100))) < len(encode_still(pixels, PngFormat(1)))
    webp = [len(encode_still(pixels, WebpFormat(compression=level))) for level in (0, 6)]
    assert webp[1] < webp[0]


def test_the_same_picture_gives_the_same_bytes() -> None:
    for format_ in FORMATS:
        assert encode_still(noise(), format_) == encode_still(noise(), format_)


def test_pixels_may_be_a_part_of_a_larger_picture() -> None:
    part = np.tile(colours(), (2, 2, 1))[10:50, 6:70]
    assert np.array_equal(decode_bgra(encode_still(part, PngFormat())), part)


def test_png_compression_covers_all_levels_of_zlib() -> None:
    assert {PngFormat(n).zlib_level for n in range(1, 101)} == set(range(1, 10))
    assert [PngFormat(n).zlib_level for n in (1, 80, 100)] == [1, 7, 9]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JpegFormat(0), "quality is 0; it must be 1 to 100"),
        (lambda: PngFormat(101), "compression is 101; it must be 1 to 100"),
        (lambda: WebpFormat(compression=7), "compression is 7; it must be 0 to 6"),
    ],
)
def test_values_out_of_range_are_refused(make: type[StillFormat], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
