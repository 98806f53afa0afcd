"""HLS (RFC 8216, version 7): one playlist of all renditions, and one of segments for each."""

from collections.abc import Iterator
from math import ceil

from framekiln.media.segments.renditions import SCRUB, Outline, Rendition
from framekiln.playback.manifests.links import ManifestLinks

MEDIA_TYPE = "application/vnd.apple.mpegurl"
PLAYLIST = "playlist.m3u8"
_SOUNDS = "sound"


def multivariant_playlist(outline: Outline, links: ManifestLinks) -> str:
    """Return the playlist that players begin with.

    The rendition for scrubbing is left out: a slow line would make players choose it.
    """
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    pictures = [each for each in outline.video_renditions if each.id != SCRUB]
    sound = outline.audio_rendition
    if not pictures:
        assert sound is not None
        lines += _variant(sound, None, links)
    elif sound is not None:
        lines.append(_sound_group(sound, links))
    for rendition in pictures:
        lines += _variant(rendition, sound, links)
    return _text(lines)


def media_playlist(rendition: Rendition, links: ManifestLinks) -> str:
    """Return the list of a rendition's segments."""
    durations_s = [rendition.seconds(ticks) for ticks in rendition.durations_ticks]
    lines = [
        "#EXTM3U",
        "#EXT-X-VERSION:7",
        f"#EXT-X-TARGETDURATION:{ceil(max(durations_s))}",
        "#EXT-X-MEDIA-SEQUENCE:1",
        "#EXT-X-PLAYLIST-TYPE:VOD",
        "#EXT-X-INDEPENDENT-SEGMENTS",
        f'#EXT-X-MAP:URI="{links.in_rendition("init.m4s")}"',
    ]
    for number, seconds in enumerate(durations_s, start=1):
        lines += [f"#EXTINF:{float(seconds):.6f},", links.in_rendition(f"{number}.m4s")]
    return _text([*lines, "#EXT-X-ENDLIST"])


def _sound_group(sound: Rendition, links: ManifestLinks) -> str:
    uri = links.from_manifest(sound.id, PLAYLIST)
    return (
        f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="{_SOUNDS}",NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,'
        f'CHANNELS="{sound.channels}",URI="{uri}"'
    )


def _variant(rendition: Rendition, sound: Rendition | None, links: ManifestLinks) -> Iterator[str]:
    together = [rendition, sound] if sound else [rendition]
    fields = [
        f"BANDWIDTH={sum(each.peak_bits_per_s for each in together)}",
        f"AVERAGE-BANDWIDTH={sum(each.mean_bits_per_s for each in together)}",
        f'CODECS="{",".join(each.codecs for each in together)}"',
    ]
    if rendition.size and rendition.fps:
        fields.append(f"RESOLUTION={rendition.size.width_px}x{rendition.size.height_px}")
        fields.append(f"FRAME-RATE={float(rendition.fps):.3f}")
    if sound:
        fields.append(f'AUDIO="{_SOUNDS}"')
    yield f"#EXT-X-STREAM-INF:{','.join(fields)}"
    yield links.from_manifest(rendition.id, PLAYLIST)


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
