"""The HLS playlists of a film that may still grow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from framekiln.media.segments.hls_playlists import (
    HlsSegment,
    HlsSound,
    HlsVariant,
    PlaylistType,
    segment_playlist,
    variant_playlist,
)

PICTURE: Final = "picture"
SOUND: Final = "sound"
TRACKS: Final = (PICTURE, SOUND)


@dataclass(frozen=True)
class FilmStreams:
    """The properties of the streams in the main playlist."""

    picture_codecs: str
    sound_codecs: str
    width_px: int
    height_px: int
    fps: Fraction
    bits_per_s: int


def main_playlist(film: FilmStreams, *, query: str = "") -> str:
    """Return the main playlist; `query` is added to every URL."""
    variant = HlsVariant(
        uri=f"stream/{PICTURE}.m3u8{query}",
        codecs=(film.picture_codecs, film.sound_codecs),
        bits_per_s=film.bits_per_s,
        size_px=(film.width_px, film.height_px),
        fps=film.fps,
    )
    return variant_playlist([variant], HlsSound(f"stream/{SOUND}.m3u8{query}", channels=2))


def media_playlist(
    track: str,
    durations_s: Sequence[Fraction],
    *,
    target_s: Fraction,
    is_over: bool,
    query: str = "",
) -> str:
    """Return the list of a track's segments; more are appended until it is complete.

    It is of type EVENT to its end: a playlist in use may not change its type.
    """
    segments = [
        HlsSegment(duration_s, f"{track}/{number}.m4s{query}")
        for number, duration_s in enumerate(durations_s)
    ]
    return segment_playlist(
        segments,
        init_uri=f"{track}/init.mp4{query}",
        target_s=target_s,
        first_number=0,
        playlist_type=PlaylistType.EVENT,
        is_over=is_over,
    )
