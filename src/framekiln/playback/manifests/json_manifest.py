"""The JSON manifest, for players that request it: durations, and URL templates."""

from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from framekiln.media.segments.renditions import SCRUB, SEGMENT_S, Outline, Rendition
from framekiln.playback.manifests.links import ManifestLinks

MEDIA_TYPE = "application/json"
_VERSION: Final = "1.0"
_LATENCY_MS: Final = 1000


def json_manifest(outline: Outline, links: ManifestLinks, *, public_url: str) -> dict[str, Any]:
    """Return the manifest; the main rendition is the first video rendition."""
    main = outline.renditions[0]
    scrub = outline.find(SCRUB)
    return {
        "version": _VERSION,
        "type": "transcode",
        "sourceUrl": links.url if links.link_url is None else links.link_url,
        "duration": float(outline.duration_s),
        "durationMs": _ms(outline.duration_s),
        "baseUrl": links.base_url(public_url),
        "videoRenditions": [_picture(each) for each in outline.video_renditions],
        "audioRenditions": [_sound(outline.audio_rendition)] if outline.audio_rendition else [],
        "endpoints": {
            "initSegment": links.absolute(public_url, "{rendition}/init.m4s"),
            "mediaSegment": links.absolute(public_url, "{rendition}/{segmentId}.m4s"),
        },
        "jitInfo": {
            "parallelTranscodingSupported": True,
            "expectedTranscodeLatency": _LATENCY_MS,
            "segmentCount": main.segment_count,
            "scrubSegmentCount": scrub.segment_count if scrub else 0,
        },
    }


def _picture(rendition: Rendition) -> dict[str, Any]:
    assert rendition.size is not None
    profile, level = _profile_and_level(rendition.codecs)
    return {
        **_common(rendition, "video/mp4"),
        "width": rendition.size.width_px,
        "height": rendition.size.height_px,
        "frameRate": float(rendition.fps or 0),
        "profile": profile,
        "level": level,
    }


def _sound(rendition: Rendition) -> dict[str, Any]:
    return {
        **_common(rendition, "audio/mp4"),
        "channels": rendition.channels,
        "sampleRate": rendition.rate_hz,
        "language": rendition.language or "und",
    }


def _common(rendition: Rendition, container: str) -> dict[str, Any]:
    # Computed from the bounds, so that a player that adds durations does not drift.
    bounds_ms = [_ms(rendition.seconds(bound)) for bound in rendition.bounds]
    return {
        "id": rendition.id,
        "codec": rendition.codecs,
        "container": container,
        "mimeType": f'{container}; codecs="{rendition.codecs}"',
        "bitrate": rendition.mean_bits_per_s,
        "segmentDuration": SEGMENT_S,
        "segmentDurationMs": SEGMENT_S * 1000,
        "segmentDurationsMs": [round(after - before, 3) for before, after in pairwise(bounds_ms)],
    }


def _profile_and_level(codecs: str) -> tuple[str, str]:
    """Return both in their usual notation, from `avc1.PPCCLL`."""
    numbers = bytes.fromhex(codecs.partition(".")[2])
    names = {66: "Baseline", 77: "Main", 100: "High"}
    return names.get(numbers[0], str(numbers[0])), f"{numbers[2] // 10}.{numbers[2] % 10}"


def _ms(seconds: Fraction) -> float:
    """Return milliseconds, exact to the microsecond."""
    return round(float(seconds * 1000), 3)
