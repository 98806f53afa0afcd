"""Pixels of image files, as they are drawn."""

from pathlib import Path

import numpy as np
from PIL import Image

from framekiln.media.images.image_source import ImageSource


def test_greys_of_16_bits_are_scaled(tmp_path: Path) -> None:
    path = tmp_path / "grey.png"
    Image.fromarray(np.array([[0, 0x4000, 0x80FF, 0xFFFF]], np.uint16)).save(path)
    with ImageSource(path) as source:
        assert source.rgba(0)[0, :, 0].tolist() == [0, 0x40, 0x80, 0xFF]
