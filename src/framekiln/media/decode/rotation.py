"""Rotates decoded frames according to their display matrix. Timestamps stay the same."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from av.video.frame import VideoFrame

from framekiln.media.decode.filter_chain import FilterChain, Step
from framekiln.media.decode.frame_properties import Orientation, orientation_of
from framekiln.media.decode.video_decoder import VideoDecoder

# A reflection along the diagonal, which is a transposition.
_TRANSPOSE: Final = ("transpose", "dir=cclock_flip")


class FrameRotator(FilterChain):
    """Returns each frame upright."""

    def __init__(self, orientation: Orientation, tick_s: Fraction) -> None:
        super().__init__(_steps(orientation), tick_s)


def upright_frames(
    decoder: VideoDecoder, tick: Callable[[], None] = lambda: None
) -> Iterator[VideoFrame]:
    """Yield all remaining frames in order of time; `tick` is called for each frame read."""
    frame = decoder.read()
    if frame is None:
        return
    upright = FrameRotator(orientation_of(frame), decoder.tick_s)
    last_pts: int | None = None
    while frame is not None:
        # Of two frames with the same timestamp, or one out of order, the first is shown.
        if frame.pts is not None and (last_pts is None or frame.pts > last_pts):
            last_pts = frame.pts
            yield from upright.push(frame)
        tick()
        frame = decoder.read()
    yield from upright.finish()


def _steps(orientation: Orientation) -> list[Step]:
    wanted = (
        (orientation.is_transposed, _TRANSPOSE),
        (orientation.is_mirrored, ("hflip", "")),
        (orientation.is_flipped, ("vflip", "")),
    )
    return [step for is_wanted, step in wanted if is_wanted]
