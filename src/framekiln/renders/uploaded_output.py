"""A finished film that a caller uploads as the output of a render, looked at in a confined child.

It must be what a render of ours would be: H.264 in an MP4, with AAC or without sound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import InvalidInput
from framekiln.media.errors import UnreadableMedia

CHECK_OUTPUT_TASK: Final = "framekiln.renders.uploaded_output:check_output_task"
MAX_OUTPUT_BYTES: Final = 1 << 30
_LIMITS: Final = ResourceLimits(cpu_s=60, memory_bytes=2 << 30, file_bytes=1 << 20, wall_s=120)


class BadFilm(InvalidInput):
    """The upload is no film that a render could have made."""

    code = "invalid_film"


@dataclass(frozen=True)
class UploadedFilmFacts:
    """What an uploaded film is."""

    width_px: int
    height_px: int
    fps: Fraction
    duration_ms: int


def is_mp4(head: bytes) -> bool:
    """Tell an MP4 by its first bytes."""
    return head[4:8] == b"ftyp"


async def probe_film(path: Path) -> UploadedFilmFacts:
    """Return what a film is; raise `BadFilm` if a render could not have made it.

    It lies in a folder of its own, which is handed to the child.
    """
    try:
        told = await run_confined(
            CHECK_OUTPUT_TASK,
            {"film": path.name},
            limits=_LIMITS,
            folder=path.parent,
        )
    except UnreadableMedia as error:
        raise BadFilm(f"the uploaded MP4 cannot be read: {error.message}") from error
    codecs = (told["video_codec"], told["audio_codec"])
    if codecs not in (("h264", "aac"), ("h264", None)):
        raise BadFilm(
            "an uploaded output is an MP4 of H.264 with AAC or without sound, not of"
            f" {codecs[0] or 'no picture'} and {codecs[1] or 'no sound'}"
        )
    fps = Fraction(told["fps"])
    if fps <= 0 or told["duration_ms"] < 1:
        raise BadFilm("the uploaded MP4 does not say how long it is, or at which rate")
    return UploadedFilmFacts(told["width_px"], told["height_px"], fps, told["duration_ms"])


def check_output_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Look at `film`, for `run_confined`."""
    # The api must not load the libraries of FFmpeg.
    from framekiln.media.probe.media_file import probe_media  # noqa: PLC0415

    facts = probe_media(Path(args["film"]))
    video, audio = facts.video, facts.audio
    return {
        "video_codec": video.codec if video else None,
        "audio_codec": audio.codec if audio else None,
        "width_px": video.width_px if video else None,
        "height_px": video.height_px if video else None,
        "fps": str(video.fps if video else 0),
        "duration_ms": round(facts.duration_ms),
    }
