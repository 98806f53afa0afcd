"""When each frame of a video is shown, from the timestamps of its frames."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from av.video.frame import VideoFrame

FRAME_TIMES: Final = "frame-times.json"
"""The name of the times in the folder of an upload that is processed."""
MAX_FRAMES: Final = 1_000_000


@dataclass(frozen=True)
class ExactFrameTimes:
    """When frames begin, in ticks, and when the last one ends."""

    tick_s: Fraction
    starts: Sequence[int]
    end: int


def shown_times(
    stamps: Sequence[int], tick_s: Fraction, *, last_ticks: int, fps: Fraction
) -> ExactFrameTimes:
    """Return the times of the frames with these timestamps.

    The last one is as long as `last_ticks`, or as `fps` where the file does not say it (0): at a
    variable rate the mean may be far from it.
    """
    frame_ticks = last_ticks or max(1, round(1 / fps / tick_s))
    # The last frame that begins at zero or before it is the first that is shown.
    shown = stamps[max(0, bisect_right(stamps, 0) - 1) :]
    starts = [max(0, each) for each in shown]
    return ExactFrameTimes(tick_s, starts, starts[-1] + frame_ticks)


def write_times(times: ExactFrameTimes, target: Path) -> None:
    """Write times as JSON; `starts` come last, as their reader expects."""
    described = {
        "frame_count": len(times.starts),
        "tick_s": [times.tick_s.numerator, times.tick_s.denominator],
        "end": times.end,
        "starts": times.starts,
    }
    target.write_text(json.dumps(described, separators=(",", ":")))


class FrameTimesBuilder:
    """Collects the times from a decoder that reads all frames of a video anyway."""

    def __init__(self, fps: Fraction) -> None:
        self._fps = fps
        self._stamps: list[int] = []
        self._last_ticks = 0
        self._tick_s = Fraction(0)

    def add_frame(self, frame: VideoFrame, tick_s: Fraction) -> None:
        """Add the next frame; its timestamp is in units of `tick_s`."""
        assert frame.pts is not None
        self._tick_s, self._last_ticks = tick_s, frame.duration
        # One more than allowed tells that there are too many.
        if len(self._stamps) <= MAX_FRAMES:
            self._stamps.append(frame.pts)

    def write(self, target: Path) -> None:
        """Write the times, if there are not too many; call it after the last frame."""
        if 0 < len(self._stamps) <= MAX_FRAMES:
            times = shown_times(
                self._stamps, self._tick_s, last_ticks=self._last_ticks, fps=self._fps
            )
            write_times(times, target)
