"""The kinds of media files, shared by all modules that probe or use them."""

from enum import StrEnum


class MediaKind(StrEnum):
    """The kind of a media file. Sound is a kind here, though sound files have the type video."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"
    """Stills, drawings, and pictures that move without sound: GIF, WebP, APNG, AVIF."""
    CAPTION = "caption"
    LOTTIE = "lottie"
