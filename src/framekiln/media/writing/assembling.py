"""Slices and sound become the film in its container, by the one way that container needs."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from framekiln.media.writing.gif import write_gif
from framekiln.media.writing.join import join
from framekiln.media.writing.wrapping import wrap


def assemble(
    slices: Sequence[Path], sound: Path, out: Path, *, container: str, fps: Fraction
) -> None:
    """Write the film to `out`; `container` is mp4, webm, mov or gif, which has no sound."""
    if container == "mp4":
        join(slices, sound, out)
    elif container == "gif":
        write_gif(slices, out, fps=fps)
    else:
        wrap(slices, sound, out, container=container, fps=fps)
