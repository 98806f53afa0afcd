"""The containers that films are written in: one row each.

Values only, so that callers need not import the writers.
"""

from dataclasses import dataclass
from typing import Final

from framekiln.media.audio.mix_settings import AudioCoding
from framekiln.media.encode.codecs import VideoCoding


@dataclass(frozen=True)
class FilmContainer:
    """How a film is encoded and written."""

    media_type: str
    muxer: str
    """FFmpeg's name of the format."""
    video: VideoCoding
    """The coding of slices until the film is assembled."""
    audio: AudioCoding


FILM_CONTAINERS: Final = {
    "mp4": FilmContainer("video/mp4", "mp4", VideoCoding.H264, AudioCoding.AAC),
    "webm": FilmContainer("video/webm", "webm", VideoCoding.VP9, AudioCoding.OPUS),
    "mov": FilmContainer("video/quicktime", "mov", VideoCoding.PRORES, AudioCoding.PCM),
    "gif": FilmContainer("image/gif", "gif", VideoCoding.LOSSLESS, AudioCoding.AAC),
}
"""By file extension, which is also the name in requests."""


def film_container(name: str) -> FilmContainer:
    """Return a container by name; MP4 for a config that requests a still image."""
    return FILM_CONTAINERS.get(name, FILM_CONTAINERS["mp4"])
