"""HLS playlists (RFC 8216, version 7) of films and of sources. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Final

MEDIA_TYPE: Final = "application/vnd.apple.mpegurl"
_SOUNDS: Final = "sound"


class PlaylistType(StrEnum):
    """Whether a list of segments is complete."""

    VOD = "VOD"
    EVENT = "EVENT"
    """Segments may be appended until it ends."""


@dataclass(frozen=True)
class HlsSegment:
    """One segment and its URI."""

    duration_s: Fraction
    uri: str


@dataclass(frozen=True)
class HlsVariant:
    """The properties by which players choose; audio without video has no size."""

    uri: str
    codecs: Sequence[str]
    bits_per_s: int
    mean_bits_per_s: int | None = None
    size_px: tuple[int, int] | None = None
    fps: Fraction | None = None


@dataclass(frozen=True)
class HlsSound:
    """The audio that plays with every variant."""

    uri: str
    channels: int | None
    language: str | None = None


def variant_playlist(variants: Iterable[HlsVariant], sound: HlsSound | None) -> str:
    """Return the master playlist."""
    lines = ["#EXT-X-INDEPENDENT-SEGMENTS"]
    if sound is not None:
        language = f'LANGUAGE="{sound.language}",' if sound.language else ""
        lines.append(
            f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="{_SOUNDS}",NAME="Sound",{language}DEFAULT=YES,'
            f'AUTOSELECT=YES,CHANNELS="{sound.channels}",URI="{sound.uri}"'
        )
    for variant in variants:
        fields = _variant_fields(variant)
        if sound is not None:
            fields.append(f'AUDIO="{_SOUNDS}"')
        lines += [f"#EXT-X-STREAM-INF:{','.join(fields)}", variant.uri]
    return _playlist(lines)


def segment_playlist(
    segments: Iterable[HlsSegment],
    *,
    init_uri: str,
    target_s: Fraction,
    first_number: int,
    playlist_type: PlaylistType,
    is_over: bool = True,
) -> str:
    """Return the playlist of a track's segments; unless it has ended, more will be appended."""
    lines = [
        f"#EXT-X-TARGETDURATION:{max(1, ceil(target_s))}",
        f"#EXT-X-MEDIA-SEQUENCE:{first_number}",
        f"#EXT-X-PLAYLIST-TYPE:{playlist_type}",
        "#EXT-X-INDEPENDENT-SEGMENTS",
        f'#EXT-X-MAP:URI="{init_uri}"',
    ]
    for segment in segments:
        lines += [f"#EXTINF:{float(segment.duration_s):.6f},", segment.uri]
    return _playlist([*lines, *(["#EXT-X-ENDLIST"] if is_over else [])])


def _variant_fields(variant: HlsVariant) -> list[str]:
    fields = [f"BANDWIDTH={variant.bits_per_s}"]
    if variant.mean_bits_per_s is not None:
        fields.append(f"AVERAGE-BANDWIDTH={variant.mean_bits_per_s}")
    fields.append(f'CODECS="{",".join(variant.codecs)}"')
    if variant.size_px and variant.fps:
        width_px, height_px = variant.size_px
        fields.append(f"RESOLUTION={width_px}x{height_px}")
        fields.append(f"FRAME-RATE={float(variant.fps):.3f}")
    return fields


def _playlist(lines: list[str]) -> str:
    return "\n".join(["#EXTM3U", "#EXT-X-VERSION:7", *lines]) + "\n"
