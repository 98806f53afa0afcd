"""The formats of stills, as values, so that callers need not import the encoders."""

from dataclasses import dataclass


@dataclass(frozen=True)
class JpegFormat:
    """JPEG: full range, 4:2:0. `quality` 1 to 100 is that of libjpeg."""

    quality: int = 80

    def __post_init__(self) -> None:
        _require("quality", self.quality, 1, 100)


@dataclass(frozen=True)
class PngFormat:
    """PNG: lossless. `compression` 1 is fastest, 100 smallest."""

    compression: int = 80
    transparency: bool = False

    def __post_init__(self) -> None:
        _require("compression", self.compression, 1, 100)

    @property
    def zlib_level(self) -> int:
        """The effort on zlib's scale, 1 to 9."""
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


def _require(name: str, value: int, lowest: int, highest: int) -> None:
    if not lowest <= value <= highest:
        raise ValueError(f"{name} is {value}; it must be {lowest} to {highest}")
