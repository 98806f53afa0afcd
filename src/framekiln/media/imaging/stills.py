"""Single pictures: decoding and encoding image files."""

import io
from dataclasses import dataclass
from typing import Final

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from framekiln.kit.errors import FramekilnError

Pixels = NDArray[np.uint8]

_WHITE: Final = (255, 255, 255, 255)


class UnreadableImage(FramekilnError):
    """The bytes are not a picture we can decode."""

    code = "unreadable_image"


@dataclass(frozen=True)
class JpegFormat:
    """JPEG: full range, 4:2:0. `quality` 1 to 100 is that of libjpeg."""

    quality: int = 80

    def __post_init__(self) -> None:
        _require("quality", self.quality, 1, 100)


@dataclass(frozen=True)
class PngFormat:
    """PNG: loses nothing. `compression` 1 is fastest, 100 smallest."""

    compression: int = 80
    transparency: bool = False

    def __post_init__(self) -> None:
        _require("compression", self.compression, 1, 100)

    @property
    def zlib_level(self) -> int:
        """The effort as zlib counts it, 1 to 9."""
        return 1 + round((self.compression - 1) * 8 / 99)


@dataclass(frozen=True)
class WebpFormat:
    """Lossy WebP. `quality` 1 to 100; `compression` 0 is fastest, 6 smallest."""

    quality: int = 80
    compression: int = 4
    transparency: bool = False

    def __post_init__(self) -> None:
        _require("quality", self.quality, 1, 100)
        _require("compression", self.compression, 0, 6)


StillFormat = JpegFormat | PngFormat | WebpFormat


def encode_still(pixels_bgra: Pixels, format_: StillFormat) -> bytes:
    """Return height x width x BGRA (alpha straight) as an image file.

    Without transparency, what shows through is white, as in a browser window.
    """
    picture = _picture(pixels_bgra, keeps_alpha=getattr(format_, "transparency", False))
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
    """Return the picture as height x width x BGRA."""
    try:
        with av.open(io.BytesIO(data), "r") as container:
            picture = next(container.decode(video=0))
            return np.asarray(picture.to_ndarray(format="bgra"), np.uint8)
    except (av.FFmpegError, StopIteration) as error:
        raise UnreadableImage(f"not a readable picture: {error}") from error


def _picture(pixels_bgra: Pixels, *, keeps_alpha: bool) -> Image.Image:
    height, width = pixels_bgra.shape[:2]
    data = np.ascontiguousarray(pixels_bgra)
    picture = Image.frombuffer("RGBA", (width, height), data, "raw", "BGRA", 0, 1)
    if keeps_alpha:
        return picture
    if pixels_bgra[..., 3].min(initial=255) < 255:
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, _WHITE), picture)
    return picture.convert("RGB")


def _require(name: str, value: int, lowest: int, highest: int) -> None:
    if not lowest <= value <= highest:
        raise ValueError(f"{name} is {value}; it must be {lowest} to {highest}")
