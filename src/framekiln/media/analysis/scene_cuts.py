"""Finds the cuts between shots.

Small versions of frames are compared in brightness and colour. A cut is a frame that differs much
from the previous one, and much more than that one did from its predecessor: fast motion differs all
the time, a cut differs once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from framekiln.media.decode.frame_converter import EXACT_SCALING
from framekiln.media.decode.video_decoder import VideoDecoder

_WIDTH_PX: Final = 160
_HEIGHT_PX: Final = 90
# A mean difference of this many levels counts as a completely different frame.
_WHOLE_DIFFERENCE: Final = 100.0

_Small = NDArray[np.int16]


@dataclass(frozen=True)
class SceneCut:
    """The first frame of a new shot."""

    at_ms: Fraction
    score: float
    """0 to 1: how much it differs."""


def find_scene_cuts(
    source: Path, *, threshold: float, from_ms: int = 0, until_ms: int | None = None
) -> Iterator[SceneCut]:
    """Yield the cuts in the span, in order of time."""
    with VideoDecoder(source) as decoder:
        if from_ms > 0:
            # Shots often begin with a keyframe, and a cut is detected against the frame before it.
            decoder.seek(int(Fraction(from_ms - 1, 1000) / decoder.tick_s))
        before: _Small | None = None
        difference_before = 0.0
        for at_ms, frame in _timed(decoder):
            if until_ms is not None and at_ms >= until_ms:
                return
            small = _small(frame)
            if before is not None:
                difference = float(np.abs(small - before).mean())
                score = min(difference, abs(difference - difference_before)) / _WHOLE_DIFFERENCE
                if score > threshold and at_ms >= from_ms:
                    yield SceneCut(at_ms, min(1.0, score))
                difference_before = difference
            before = small


def scene_cuts_task(
    args: dict[str, Any], report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Search in a confined child: `source`, `threshold`, and a span in milliseconds.

    Returns the first cuts, `most` at most, and the number of all: there may be one at each frame.
    """
    cuts: list[dict[str, Any]] = []
    cut_count = 0
    found = find_scene_cuts(
        Path(args["source"]),
        threshold=args["threshold"],
        from_ms=args.get("from_ms", 0),
        until_ms=args.get("until_ms"),
    )
    for cut in found:
        at_ms = round(cut.at_ms)
        cut_count += 1
        if len(cuts) < args["most"]:
            cuts.append({"at_ms": at_ms, "score": round(cut.score, 4)})
        report({"at_ms": at_ms})
    return {"cuts": cuts, "cut_count": cut_count}


def _timed(decoder: VideoDecoder) -> Iterator[tuple[Fraction, VideoFrame]]:
    while (frame := decoder.read()) is not None:
        assert frame.pts is not None
        yield frame.pts * decoder.tick_s * 1000, frame


_SCALER: Final = VideoReformatter()


def _small(frame: VideoFrame) -> _Small:
    less = _SCALER.reformat(
        frame,
        width=_WIDTH_PX,
        height=_HEIGHT_PX,
        format="yuv444p",
        interpolation=Interpolation.AREA | EXACT_SCALING,
        threads=1,
    )
    return less.to_ndarray().astype(np.int16)
