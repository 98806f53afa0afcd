"""Pixels of image files, as they are drawn."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from framekiln.media.images.image_source import ImageSource


def test_greys_of_16_bits_are_scaled(tmp_path: Path) -> None:
    path = tmp_path / "grey.png"
    Image.fromarray(np.array([[0, 0x4000, 0x80FF, 0xFFFF]], np.uint16)).save(path)
    with ImageSource(path) as source:
        assert source.rgba(0)[0, :, 0].tolist() == [0, 0x40, 0x80, 0xFF]


SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
RED_IS_BLUE = SRGB.replace(b"rXYZ", b"----").replace(b"bXYZ", b"rXYZ").replace(b"----", b"bXYZ")
# An exponent of 1.2 instead of 2.4.
BRIGHT_GREY = (
    SRGB.replace(b"RGB ", b"GRAY", 1)
    .replace(b"rTRC", b"kTRC")
    .replace(bytes.fromhex("00026666"), bytes.fromhex("00013333"))
)


@pytest.mark.parametrize("form", ["png", "jpg", "webp"])
def test_colours_are_those_of_the_profile(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"a.{form}"
    picture = Image.new("RGBA" if form == "png" else "RGB", (16, 16), (250, 20, 60))
    picture.save(path, icc_profile=RED_IS_BLUE)
    with ImageSource(path) as source:
        colour = source.rgba(0)[8, 8].astype(int)
    assert np.abs(colour - (60, 20, 250, 255)).max() <= 3


def test_transparency_of_a_picture_with_a_profile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("LA", (4, 4), (128, 70)).save(path, icc_profile=BRIGHT_GREY)
    with ImageSource(path) as source:
        red, green, blue, alpha = source.rgba(0)[0, 0].tolist()
    assert red == green == blue > 150
    assert alpha == 70


@pytest.mark.parametrize("profile", [SRGB, b"damaged", BRIGHT_GREY], ids=["srgb", "broken", "grey"])
def test_a_profile_that_does_not_fit_or_is_srgb_changes_nothing(
    tmp_path: Path, profile: bytes
) -> None:
    path = tmp_path / "a.png"
    Image.new("RGB", (4, 4), (200, 100, 50)).save(path, icc_profile=profile)
    with ImageSource(path) as source:
        assert source.rgba(0)[0, 0].tolist() == [200, 100, 50, 255]
