"""Joins slices in a confined child, for films with packets that were copied from a source.

FFmpeg gives packets to its parsers when it opens a slice. Packets that we encoded are harmless, so
their slices are joined in the process that has them.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder

JOIN_MODULE: Final = "framekiln.media.remux.assemble"
_TASK: Final = f"{JOIN_MODULE}:assemble_task"
# A caller waits for the film, so it is not behind the rest of the service.
_LIMITS: Final = ResourceLimits(
    cpu_s=3600, memory_bytes=2 << 30, file_bytes=256 << 30, wall_s=7200, niceness=0
)


def join_order(
    slices: Sequence[Path],
    sound: Path,
    out: Path,
    *,
    container: str,
    fps: Fraction,
    frame_count: int,
) -> ConfinedOrder:
    """Return the order to write the film to `out`, as `assemble` does.

    Slices and sound are in one folder and readable by all; the folder of `out` is the child's.
    """
    args = {
        "slices": [str(path.absolute()) for path in slices],
        "sound": str(sound.absolute()),
        "out": out.name,
        "container": container,
        "fps": str(fps),
        "frame_count": frame_count,
    }
    return ConfinedOrder(_TASK, args, _LIMITS, out.parent, (sound.parent,))
