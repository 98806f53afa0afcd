"""Converts pictures to sRGB by their colour profile (ICC), as browsers do.

Photos of phones have wider colours, which look pale without their profile. Profiles of CMYK are not
used.
"""

import io
from typing import Final, Self

import numpy as np
from PIL import Image, ImageCms

_SRGB: Final = ImageCms.createProfile("sRGB")
# Pillow's modes of the pictures that a kind of profile describes.
_MODES: Final = {"RGB": "RGB", "GRAY": "L"}
_GREY_MODES: Final = {"1", "L", "LA"}
# Many profiles describe sRGB itself, each rounded in its own way.
_SAME_LEVELS: Final = 2


class ColourProfile:
    """The profile of an image file, if it is not that of sRGB."""

    def __init__(self, mode: str, transform: ImageCms.ImageCmsTransform) -> None:
        self._mode = mode
        self._transform = transform

    @classmethod
    def read(cls, data: bytes | None) -> Self | None:
        """Return the profile; None if it is missing or damaged, or would change nothing."""
        if not data:
            return None
        try:
            stored = ImageCms.ImageCmsProfile(io.BytesIO(data))
            mode = _MODES.get(stored.profile.xcolor_space.strip())
            if mode is None:
                return None
            profile = cls(mode, ImageCms.buildTransform(stored, _SRGB, mode, "RGB"))
            return profile if profile._changes_colours() else None
        except (ImageCms.PyCMSError, OSError):
            return None

    def to_rgba(self, picture: Image.Image) -> Image.Image:
        """Return a picture of 8 bits as RGBA in sRGB."""
        rgba = picture.convert("RGBA")
        is_grey = picture.mode in _GREY_MODES
        if picture.mode == "CMYK" or (self._mode == "L" and not is_grey):
            return rgba
        converted = self._convert(picture)
        converted.putalpha(rgba.getchannel("A"))
        return converted

    def _convert(self, picture: Image.Image) -> Image.Image:
        converted = ImageCms.applyTransform(picture.convert(self._mode), self._transform)
        assert converted is not None, "the picture is not changed in place"
        return converted

    def _changes_colours(self) -> bool:
        levels = 51 * np.moveaxis(np.indices((6, 6, 6)).reshape(3, 6, 36), 0, 2)
        sample = Image.fromarray(levels.astype(np.uint8)).convert(self._mode)
        before = np.asarray(sample.convert("RGB"), np.int16)
        after = np.asarray(self._convert(sample), np.int16)
        return bool(np.abs(after - before).max() > _SAME_LEVELS)
