"""The kinds of media files, shared by all modules that probe or use them."""

from enum import StrEnum


class MediaKind(StrEnum):
    """The kind of a media file. Audio is a kind here, though audio files have the type video."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"
    """Still images, SVG, and animations without audio: GIF, WebP, APNG, AVIF."""
    CAPTION = "caption"
    LOTTIE = "lottie"
