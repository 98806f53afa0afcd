"""What a file or URL holds, in the words of POST /v2/metadata. Pure."""

from enum import StrEnum
from typing import Any

from framekiln.kit.errors import InvalidInput
from framekiln.media.probed_source import IMAGE, MEDIA, ProbedSource


class LookedAs(StrEnum):
    """What the caller takes a file for."""

    VIDEO = "video"
    AUDIO = "audio"
    IMAGE = "image"

    @property
    def kind(self) -> str:
        """Who is to look at it."""
        return IMAGE if self is LookedAs.IMAGE else MEDIA


def describe(found: ProbedSource, looked_as: LookedAs) -> dict[str, Any]:
    """Return what is known; seconds and bits per second. Raises if it is something else."""
    if looked_as is LookedAs.AUDIO:
        _require(found.has_sound, looked_as)
        return {
            "bitrate": found.bits_per_s,
            "codec": found.sound_codec,
            "duration": _number(found.duration_s, 6),
            "samplerate": found.rate_hz,
            "channels": found.channels,
            "size": found.size_bytes,
        }
    _require(found.width_px is not None, looked_as)
    picture = {
        "codec": found.codec,
        "height": found.height_px,
        "size": found.size_bytes,
        "width": found.width_px,
    }
    if looked_as is LookedAs.IMAGE:
        return picture
    return {
        "bitrate": found.bits_per_s,
        "duration": _number(found.duration_s, 6),
        "fps": _number(found.fps, 3),
        **picture,
    }


def _number(value: Any, digits: int) -> float | None:
    return None if value is None else round(float(value), digits)


def _require(holds: bool, looked_as: LookedAs) -> None:
    if not holds:
        wanted = "sound" if looked_as is LookedAs.AUDIO else "a picture"
        issue = {"path": "type", "code": "asset_unsupported", "message": f"it has no {wanted}"}
        raise InvalidInput(f"type: the file has no {wanted}", field="type", issues=[issue])
