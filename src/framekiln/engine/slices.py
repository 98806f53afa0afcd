"""A film is cut into slices that are made on their own and joined without re-encoding. Pure."""

from dataclasses import dataclass
from fractions import Fraction

from framekiln.timeline import Timeline

DEFAULT_SLICE_MS = 4000
COPIED_SLICE = "copied"
"""How frames were made that came from another film, not from drawing."""


@dataclass(frozen=True)
class FilmSlice:
    """Frames `first_frame` to `first_frame + frame_count - 1` of a film."""

    number: int
    first_frame: int
    frame_count: int

    @property
    def end_frame(self) -> int:
        """The frame after the last."""
        return self.first_frame + self.frame_count


def cut_slices(timeline: Timeline, slice_ms: int = DEFAULT_SLICE_MS) -> tuple[FilmSlice, ...]:
    """Cut a film into slices of about that length.

    The cuts depend on the film alone, never on who renders it, so that the same film gives the
    same bytes on one worker and on forty.
    """
    frames = max(1, round(Fraction(slice_ms) * timeline.fps / 1000))
    starts = range(0, timeline.frame_count, frames)
    return tuple(
        FilmSlice(number, start, min(frames, timeline.frame_count - start))
        for number, start in enumerate(starts)
    )
