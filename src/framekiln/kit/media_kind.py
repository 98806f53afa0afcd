"""What a media file is for: the one list of kinds, shared by all that look at files or use them."""

from enum import StrEnum


class MediaKind(StrEnum):
    """What a file is for. Sound alone is a kind here, though files of it are of type video."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"
    """Stills, drawings, and pictures that move without sound: GIF, WebP, APNG, AVIF."""
    CAPTION = "caption"
    LOTTIE = "lottie"
