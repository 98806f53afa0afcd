"""What is made of the frames of an upload while they are decoded: thumbnails and frame times."""

from fractions import Fraction
from pathlib import Path

from av.video.frame import VideoFrame

from framekiln.media.analysis.frame_times import FRAME_TIMES, FrameTimesBuilder
from framekiln.media.analysis.overview import THUMBNAILS
from framekiln.media.analysis.thumbnails import SheetBuilder
from framekiln.media.probe.media_file import MediaFacts


class FrameOverview:
    """Gets each frame of a video once, in order; `fps` is for a last one without duration."""

    def __init__(self, facts: MediaFacts, fps: Fraction) -> None:
        self._sheet = SheetBuilder(facts)
        self._times = FrameTimesBuilder(fps)

    def add_frame(self, frame: VideoFrame, tick_s: Fraction) -> None:
        """Add the next frame, already upright; its timestamp is in units of `tick_s`."""
        self._sheet.add_frame(frame, tick_s)
        self._times.add_frame(frame, tick_s)

    def write(self, folder: Path) -> None:
        """Write `thumbnails.jpg` and `frame-times.json`; call it after the last frame."""
        self._sheet.write(folder / THUMBNAILS)
        self._times.write(folder / FRAME_TIMES)
