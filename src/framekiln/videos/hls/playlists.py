"""HLS playlists (RFC 8216, version 7) of a film that may still be growing. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

MEDIA_TYPE: Final = "application/vnd.apple.mpegurl"
PICTURE: Final = "picture"
SOUND: Final = "sound"
TRACKS: Final = (PICTURE, SOUND)


@dataclass(frozen=True)
class HlsVariant:
    """What players are told before they choose."""

    picture_codecs: str
    sound_codecs: str
    width_px: int
    height_px: int
    fps: Fraction
    bits_per_s: int


def main_playlist(variant: HlsVariant, *, query: str = "") -> str:
    """Return the playlist that players begin with; `query` goes with every address."""
    fields = [
        f"BANDWIDTH={variant.bits_per_s}",
        f'CODECS="{variant.picture_codecs},{variant.sound_codecs}"',
        f"RESOLUTION={variant.width_px}x{variant.height_px}",
        f"FRAME-RATE={float(variant.fps):.3f}",
        'AUDIO="sound"',
    ]
    return _text(
        [
            "#EXTM3U",
            "#EXT-X-VERSION:7",
            "#EXT-X-INDEPENDENT-SEGMENTS",
            '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,'
            f'CHANNELS="2",URI="stream/{SOUND}.m3u8{query}"',
            f"#EXT-X-STREAM-INF:{','.join(fields)}",
            f"stream/{PICTURE}.m3u8{query}",
        ]
    )


def media_playlist(
    track: str,
    durations_s: Sequence[Fraction],
    *,
    target_s: Fraction,
    is_over: bool,
    query: str = "",
) -> str:
    """Return the list of a track's segments; unless it is over, more will be appended.

    It is of type EVENT to its end: a playlist that is being watched may not change its type.
    """
    lines = [
        "#EXTM3U",
        "#EXT-X-VERSION:7",
        f"#EXT-X-TARGETDURATION:{max(1, ceil(target_s))}",
        "#EXT-X-MEDIA-SEQUENCE:0",
        "#EXT-X-PLAYLIST-TYPE:EVENT",
        "#EXT-X-INDEPENDENT-SEGMENTS",
        f'#EXT-X-MAP:URI="{track}/init.mp4{query}"',
    ]
    for number, duration_s in enumerate(durations_s):
        lines += [f"#EXTINF:{float(duration_s):.6f},", f"{track}/{number}.m4s{query}"]
    return _text([*lines, *(["#EXT-X-ENDLIST"] if is_over else [])])


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
