"""The response of POST /v2/metadata for a probed file or URL. Pure."""

from enum import StrEnum
from typing import Any

from framekiln.kit.errors import InvalidInput
from framekiln.kit.media_kind import MediaKind
from framekiln.media.probe.probed_source import ProbedSource


class ExpectedMedia(StrEnum):
    """The media type that the caller expects."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"


def describe_source(found: ProbedSource, expected: ExpectedMedia) -> dict[str, Any]:
    """Return the facts, in seconds and bits per second. Raises if it is of another type."""
    _require_kind(found, expected)
    if expected is ExpectedMedia.AUDIO:
        return {
            "bitrate": found.bits_per_s,
            "codec": found.sound_codec,
            "duration": _number(found.duration_s, 6),
            "samplerate": found.rate_hz,
            "channels": found.channels,
            "size": found.size_bytes,
        }
    picture = {
        "codec": found.codec,
        "height": found.height_px,
        "size": found.size_bytes,
        "width": found.width_px,
    }
    if expected is ExpectedMedia.IMAGE:
        return picture
    return {
        "bitrate": found.bits_per_s,
        "duration": _number(found.duration_s, 6),
        "fps": _number(found.fps, 3),
        **picture,
    }


def _number(value: Any, digits: int) -> float | None:
    return None if value is None else round(float(value), digits)


def _require_kind(found: ProbedSource, expected: ExpectedMedia) -> None:
    """Raise unless it is of the expected type; animated images also count as videos."""
    is_expected, fault = {
        ExpectedMedia.AUDIO: (found.has_sound, "has no sound"),
        ExpectedMedia.IMAGE: (found.kind is MediaKind.IMAGE, "is not an image"),
        ExpectedMedia.VIDEO: (found.is_moving, "has no moving picture"),
    }[expected]
    if not is_expected:
        message = f"the file {fault}: it is of kind {found.kind}"
        issue = {"path": "type", "code": "asset_unsupported", "message": message}
        raise InvalidInput(f"type: {message}", field="type", issues=[issue])
