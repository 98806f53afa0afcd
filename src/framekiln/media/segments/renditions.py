"""The renditions of a source: their sizes, and the bounds of their segments.

Pure arithmetic. A rendition is never larger than its source. Segments begin with a frame of the
source and follow each other without a gap; their bounds are whole ticks.
"""

from base64 import b64decode, b64encode
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, pairwise, repeat
from typing import Any, Final, Self

MAIN: Final = "high"
SCRUB: Final = "scrub"
AUDIO: Final = "audio"
MAX_SHORT_SIDE_PX: Final = 1080
"""For encoded renditions; a copied source may be larger."""
STEPS_PX: Final = {"720p": 720, "480p": 480, "360p": 360}
SCRUB_WIDTH_PX: Final = 320

# The first segments are short, so that playback starts early.
FIRST_SEGMENTS_S: Final = (1, 2)
SEGMENT_S: Final = 4
# A shorter remainder at the end joins the segment before it.
_MIN_TAIL_S: Final = 1
_LONG_START_S: Final = 2

_FULL_HD_BITS_PER_S: Final = 6_000_000
_FAST_FPS: Final = 40


@dataclass(frozen=True)
class RenditionSize:
    """Width and height of a frame, both even."""

    width_px: int
    height_px: int


_FULL_HD: Final = RenditionSize(1920, 1080)


@dataclass(frozen=True)
class Rendition:
    """One form of a track. Segment n, from 1, goes from bound n - 1 to bound n."""

    id: str
    is_copy: bool
    """Whether it holds the source's own packets instead of encoded ones."""
    codecs: str
    timescale: int
    bounds: tuple[int, ...]
    """In ticks; the first is zero, so that all players agree on the time."""
    init: bytes
    peak_bits_per_s: int
    mean_bits_per_s: int
    delay: int = 0
    """How much later than decoding frames are shown in the file; the header compensates."""
    size: RenditionSize | None = None
    fps: Fraction | None = None
    """Mean frame rate."""
    channels: int | None = None
    rate_hz: int | None = None
    language: str | None = None
    """The tag (BCP 47) of the audio's language, if it is stated."""
    grid: tuple[Fraction, Fraction] | None = None
    """Time of the source's first packet and the duration of each, if all are equal."""

    @property
    def segment_count(self) -> int:
        """Number of segments."""
        return len(self.bounds) - 1

    @property
    def durations_ticks(self) -> list[int]:
        """Duration of each segment."""
        return [after - before for before, after in pairwise(self.bounds)]

    def seconds(self, ticks: int) -> Fraction:
        """Return ticks as seconds."""
        return Fraction(ticks, self.timescale)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        size = self.size and [self.size.width_px, self.size.height_px]
        fps = self.fps and [self.fps.numerator, self.fps.denominator]
        changed = {
            "bounds": list(self.bounds),
            "init": b64encode(self.init).decode(),
            "size": size,
            "fps": fps,
            "grid": self.grid and [[part.numerator, part.denominator] for part in self.grid],
        }
        return {**vars(self), **changed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse what `to_json` returned."""
        fields = dict(data)
        fields["bounds"] = tuple(fields["bounds"])
        fields["init"] = b64decode(fields["init"])
        fields["size"] = RenditionSize(*fields["size"]) if fields["size"] else None
        fields["fps"] = Fraction(*fields["fps"]) if fields["fps"] else None
        grid = fields["grid"]
        fields["grid"] = (Fraction(*grid[0]), Fraction(*grid[1])) if grid else None
        return cls(**fields)


@dataclass(frozen=True)
class Outline:
    """All renditions of a source, the main one first."""

    renditions: tuple[Rendition, ...]

    def find(self, rendition_id: str) -> Rendition | None:
        """Return a rendition by its id."""
        return next((each for each in self.renditions if each.id == rendition_id), None)

    @property
    def video_renditions(self) -> list[Rendition]:
        """The video renditions."""
        return [each for each in self.renditions if each.size is not None]

    @property
    def audio_rendition(self) -> Rendition | None:
        """The audio rendition, if the source has audio."""
        return self.find(AUDIO)

    @property
    def duration_s(self) -> Fraction:
        """From time zero to the end of the longest rendition."""
        return max(each.seconds(each.bounds[-1]) for each in self.renditions)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"renditions": [each.to_json() for each in self.renditions]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse what `to_json` returned."""
        return cls(tuple(Rendition.from_json(each) for each in data["renditions"]))


def main_size(width_px: int, height_px: int) -> RenditionSize:
    """Return the size of the main rendition if it has to be encoded."""
    return _fitted(width_px, height_px, MAX_SHORT_SIDE_PX)


def smaller_sizes(width_px: int, height_px: int, main: RenditionSize) -> dict[str, RenditionSize]:
    """Return the smaller video renditions by name, the scrub rendition last."""
    short_px = min(main.width_px, main.height_px)
    sizes = {
        name: _fitted(width_px, height_px, side_px)
        for name, side_px in STEPS_PX.items()
        if side_px < short_px
    }
    scrub = _scaled(width_px, height_px, Fraction(min(SCRUB_WIDTH_PX, width_px), width_px))
    return {**sizes, SCRUB: scrub}


def max_bits_per_s(size: RenditionSize, fps: Fraction) -> int:
    """Return the maximum bit rate of an encoded rendition; small frames need more per pixel."""
    bits = round(_FULL_HD_BITS_PER_S * (1.5 if fps > _FAST_FPS else 1))
    return scaled_bits_per_s(bits, of=_FULL_HD, size=size)


def scaled_bits_per_s(bits_per_s: int, *, of: RenditionSize, size: RenditionSize) -> int:
    """Return the bit rate of a smaller frame if one of the size `of` has `bits_per_s`."""
    share = (size.width_px * size.height_px) / (of.width_px * of.height_px)
    kilobits: float = bits_per_s * share**0.75 / 1000
    return max(100_000, round(kilobits) * 1000)


def segment_bounds(instants: Sequence[int], end: int, *, timescale: int) -> tuple[int, ...]:
    """Return the bounds of segments that begin at some of the `instants`; the last is `end`."""
    bounds = [instants[0]]
    for length_s in chain(FIRST_SEGMENTS_S, repeat(SEGMENT_S)):
        place = bisect_left(instants, bounds[-1] + length_s * timescale)
        if place == len(instants):
            break
        bounds.append(instants[place])
    if len(bounds) > 1 and end - bounds[-1] < _MIN_TAIL_S * timescale:
        bounds.pop()
    return (*bounds, end)


def with_short_start(
    bounds: tuple[int, ...], instants: Sequence[int], *, timescale: int
) -> tuple[int, ...]:
    """Return bounds with the first segment cut into shorter ones if it is long.

    A copy can begin only at keyframes of its source; encoded segments need not.
    """
    end = bounds[1]
    if end - bounds[0] <= _LONG_START_S * timescale:
        return bounds
    return (
        *segment_bounds(instants[: bisect_left(instants, end)], end, timescale=timescale),
        *bounds[2:],
    )


def longest_segment(bounds: Sequence[int]) -> int:
    """Return the duration of the longest segment."""
    return max(after - before for before, after in pairwise(bounds))


def with_measured_bits(rendition: Rendition, segment_bytes: Sequence[int]) -> Rendition:
    """Return the rendition with the measured bit rates of its segments."""
    durations_s = [rendition.seconds(ticks) for ticks in rendition.durations_ticks]
    peak = max(8 * size / seconds for size, seconds in zip(segment_bytes, durations_s, strict=True))
    mean = 8 * sum(segment_bytes) / sum(durations_s)
    return replace(rendition, peak_bits_per_s=round(peak), mean_bits_per_s=round(mean))


def _fitted(width_px: int, height_px: int, short_side_px: int) -> RenditionSize:
    factor = min(Fraction(1), Fraction(short_side_px, min(width_px, height_px)))
    return _scaled(width_px, height_px, factor)


def _scaled(width_px: int, height_px: int, factor: Fraction) -> RenditionSize:
    return RenditionSize(_even(width_px * factor), _even(height_px * factor))


def _even(side_px: Fraction) -> int:
    # Odd sizes lose a row or column: an extra one would have to be invented.
    whole = int(side_px) if side_px.denominator == 1 else round(side_px / 2) * 2
    return max(2, whole // 2 * 2)
