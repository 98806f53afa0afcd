"""Samples the frame at each multiple of an interval, exactly, as JPEG files."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.images.stills import BLACK, JpegFormat, encode_still
from framekiln.media.probe.media_file import probe_media

_MAX_SIDE_PX: Final = 1920
_QUALITY: Final = 85


@dataclass(frozen=True)
class SampledFrame:
    """One frame; `at_ms` is its time."""

    at_ms: int
    path: Path


def sample_frames(
    source: Path, folder: Path, *, every_ms: int, from_ms: int = 0, until_ms: int | None = None
) -> Iterator[SampledFrame]:
    """Yield the frames at multiples of `every_ms` within the span, in order of time."""
    facts = probe_media(source)
    if facts.video is None:
        return
    end_ms = facts.duration_ms
    if until_ms is not None:
        end_ms = min(Fraction(until_ms), end_ms)
    shrink = min(1.0, _MAX_SIDE_PX / max(facts.video.width_px, facts.video.height_px))
    sides = (facts.video.width_px, facts.video.height_px)
    width, height = (max(2, round(side * shrink)) for side in sides)
    with FrameSource(source, width_px=width, height_px=height) as pictures:
        for at_ms in range(-(-from_ms // every_ms) * every_ms, _ceil(end_ms), every_ms):
            rgba = pictures.rgba_at(Fraction(at_ms))
            path = folder / f"{at_ms}.jpg"
            bgra = rgba[..., [2, 1, 0, 3]]
            path.write_bytes(encode_still(bgra, JpegFormat(quality=_QUALITY), background=BLACK))
            yield SampledFrame(at_ms, path)


def sampled_frames_task(
    args: dict[str, Any], report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Sample in a confined child: `source`, `folder`, `every_ms`, and a span in milliseconds."""
    taken = []
    frames = sample_frames(
        Path(args["source"]),
        Path(args["folder"]),
        every_ms=args["every_ms"],
        from_ms=args.get("from_ms", 0),
        until_ms=args.get("until_ms"),
    )
    for frame in frames:
        taken.append(frame.at_ms)
        report({"at_ms": frame.at_ms})
    return {"at_ms": taken}


def _ceil(ms: Fraction) -> int:
    return int(-(-ms // 1))
