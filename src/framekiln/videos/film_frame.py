"""Extracts one frame from a finished film; runs in a confined child.

A film may be one that somebody uploaded, or have packets of a source in it.
"""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat, WebpFormat
from framekiln.media.images.stills import Pixels, encode_still

_FORMATS: Final[dict[str, type[StillFormat]]] = {
    each.__name__: each for each in (JpegFormat, PngFormat, WebpFormat)
}
_RED_AND_BLUE_SWAPPED: Final = [2, 1, 0, 3]


def film_frame_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Write the frame of `source` at `time_s` to `out`, for `run_confined`."""
    format_ = _FORMATS[args["format"]](**args["options"])
    time_s, (width, height) = Fraction(args["time_s"]), args["size"]
    with FrameSource(Path(args["source"]), width_px=width, height_px=height) as pictures:
        pixels = pictures.rgba_at(time_s * 1000)
    if not getattr(format_, "transparency", False):
        pixels = _on_black(pixels)
    picture = encode_still(pixels[..., _RED_AND_BLUE_SWAPPED], format_)
    Path(args["out"]).write_bytes(picture)
    return {}


def _on_black(rgba: Pixels) -> Pixels:
    """Return an image as it looks in a film without alpha."""
    alpha = rgba[..., 3:].astype(np.uint16)
    colours = (rgba[..., :3] * alpha + 127) // 255
    return np.dstack([colours.astype(np.uint8), np.full_like(rgba[..., 3], 255)])
