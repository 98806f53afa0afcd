"""Extracts one frame from a finished film."""

from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.images.still_formats import StillFormat
from framekiln.media.images.stills import Pixels, encode_still

_RED_AND_BLUE_SWAPPED: Final = [2, 1, 0, 3]


def extract_frame(
    path: Path, time_s: Fraction, size: tuple[int, int], format_: StillFormat
) -> bytes:
    """Return the frame of a film at an instant, in a size and a format."""
    with FrameSource(path, width_px=size[0], height_px=size[1]) as pictures:
        pixels = pictures.rgba_at(time_s * 1000)
    if not getattr(format_, "transparency", False):
        pixels = _on_black(pixels)
    return encode_still(pixels[..., _RED_AND_BLUE_SWAPPED], format_)


def _on_black(rgba: Pixels) -> Pixels:
    """Return an image as it looks in a film without alpha."""
    alpha = rgba[..., 3:].astype(np.uint16)
    colours = (rgba[..., :3] * alpha + 127) // 255
    return np.dstack([colours.astype(np.uint8), np.full_like(rgba[..., 3], 255)])
