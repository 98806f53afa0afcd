"""A finished film that a caller uploads as the output of a render.

It must be what a render could have made: an MP4 with H.264, and AAC or no sound. It is not
trusted, so a confined child process probes it.
"""

from pathlib import Path
from typing import Final

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.media.errors import UnreadableMedia
from framekiln.media.task_names import PROBE_MEDIA_TASK
from framekiln.renders.errors import BadFilm
from framekiln.renders.model import RenderResult
from framekiln.renders.output_file import read_output_facts
from framekiln.timeline import read_fraction

MAX_OUTPUT_BYTES: Final = 1 << 30
_LIMITS: Final = ResourceLimits(cpu_s=60, memory_bytes=2 << 30, file_bytes=1 << 20, wall_s=120)


def is_mp4(head: bytes) -> bool:
    """Recognize an MP4 by its first bytes."""
    return head[4:8] == b"ftyp"


async def probe_film(path: Path, *, output_key: str) -> RenderResult:
    """Return an uploaded film as the result of a render; raise `BadFilm` if it cannot be one.

    The film's folder is passed to the child process, so it must contain nothing else.
    """
    try:
        facts = await run_confined(
            PROBE_MEDIA_TASK,
            {"source": path.name},
            limits=_LIMITS,
            folder=path.parent,
        )
    except UnreadableMedia as error:
        raise BadFilm(f"the uploaded MP4 cannot be read: {error.message}") from error
    codecs = (facts["video_codec"], facts["audio_codec"])
    if codecs not in (("h264", "aac"), ("h264", None)):
        raise BadFilm(
            "an uploaded output is an MP4 of H.264 with AAC or without sound, not of"
            f" {codecs[0] or 'no picture'} and {codecs[1] or 'no sound'}"
        )
    fps = read_fraction(facts["fps"])
    if fps <= 0 or facts["duration_ms"] < 1:
        raise BadFilm("the uploaded MP4 does not say how long it is, or at which rate")
    output = await read_output_facts(path)
    return RenderResult(
        width_px=facts["width_px"],
        height_px=facts["height_px"],
        fps=fps,
        duration_ms=facts["duration_ms"],
        output_key=output_key,
        byte_size=output.byte_size,
        record={"uploaded": True},
        md5=output.md5,
    )
