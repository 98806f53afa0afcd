"""Still images: decoding and encoding image files."""

import io
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from framekiln.kit.errors import FramekilnError
from framekiln.media.images.still_formats import JpegFormat, PngFormat, StillFormat, WebpFormat

__all__ = [
    "BLACK",
    "WHITE",
    "JpegFormat",
    "Pixels",
    "PngFormat",
    "StillFormat",
    "UnreadableImage",
    "WebpFormat",
    "decode_bgra",
    "encode_still",
]

Pixels = NDArray[np.uint8]

# Of our own browsers' screenshots.
_FORMATS: Final = {"format_whitelist": "png_pipe,jpeg_pipe,webp_pipe", "protocol_whitelist": ""}
WHITE: Final = (255, 255, 255, 255)
BLACK: Final = (0, 0, 0, 255)
"""What is behind a video that loses its transparency: viewers of its tracks see the same."""


class UnreadableImage(FramekilnError):
    """The bytes are not a decodable image."""

    code = "unreadable_image"


def encode_still(
    pixels_bgra: Pixels, format_: StillFormat, *, background: tuple[int, int, int, int] = WHITE
) -> bytes:
    """Return height x width x BGRA (straight alpha) as an image file.

    Formats without alpha have a background, white by default, as in a browser window.
    """
    keeps_alpha = getattr(format_, "transparency", False)
    picture = _picture(pixels_bgra, None if keeps_alpha else background)
    file = io.BytesIO()
    match format_:
        case JpegFormat(quality):
            picture.save(file, "JPEG", quality=quality, subsampling="4:2:0")
        case PngFormat():
            picture.save(file, "PNG", compress_level=format_.zlib_level)
        case WebpFormat(quality, compression):
            picture.save(file, "WEBP", quality=quality, method=compression)
    return file.getvalue()


def decode_bgra(data: bytes) -> Pixels:
    """Return the image as height x width x BGRA."""
    try:
        with av.open(io.BytesIO(data), "r", options=dict(_FORMATS)) as container:
            picture = next(container.decode(video=0))
            return np.asarray(picture.to_ndarray(format="bgra"), np.uint8)
    except (av.FFmpegError, StopIteration) as error:
        raise UnreadableImage(f"not a readable image: {error}") from error


def _picture(pixels_bgra: Pixels, background: tuple[int, int, int, int] | None) -> Image.Image:
    height, width = pixels_bgra.shape[:2]
    data = np.ascontiguousarray(pixels_bgra)
    picture = Image.frombuffer("RGBA", (width, height), data, "raw", "BGRA", 0, 1)
    if background is None:
        return picture
    if pixels_bgra[..., 3].min(initial=255) < 255:
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, background), picture)
    return picture.convert("RGB")
