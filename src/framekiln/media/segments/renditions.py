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
LARGEST_SHORT_SIDE_PX: Final = 1080
"""Of what is encoded; a source that is copied may be larger."""
STEPS_PX: Final = {"720p": 720, "480p": 480, "360p": 360}
SCRUB_WIDTH_PX: Final = 320

# The first ones are short, because somebody waits for them.
FIRST_SEGMENTS_S: Final = (1, 2)
SEGMENT_S: Final = 4
# What is left at the end joins the segment before it, if it is shorter than this.
_SHORTEST_TAIL_S: Final = 1
_LONG_START_S: Final = 2

_FULL_HD_BITS_PER_S: Final = 6_000_000
_FAST_FPS: Final = 40


@dataclass(frozen=True)
class RenditionSize:
    """Sides of a picture, both even."""

    width_px: int
    height_px: int


_FULL_HD: Final = RenditionSize(1920, 1080)


@dataclass(frozen=True)
class Rendition:
    """One form of a track. Segment n, from 1, goes from bound n - 1 to bound n."""

    id: str
    is_copy: bool
    """The source's own packets, not encoded anew."""
    codecs: str
    timescale: int
    bounds: tuple[int, ...]
    """In ticks; the first is zero, so that players agree on the time whatever they go by."""
    init: bytes
    peak_bits_per_s: int
    mean_bits_per_s: int
    delay: int = 0
    """How much later than decoded pictures are shown in the file, taken back by its header."""
    size: RenditionSize | None = None
    fps: Fraction | None = None
    """Mean rate of the pictures."""
    channels: int | None = None
    rate_hz: int | None = None
    grid: tuple[Fraction, Fraction] | None = None
    """When the first packet of the source is heard, and how long each lasts, if all last alike."""

    @property
    def segment_count(self) -> int:
        """How many segments there are."""
        return len(self.bounds) - 1

    @property
    def durations_ticks(self) -> list[int]:
        """How long each segment is shown."""
        return [after - before for before, after in pairwise(self.bounds)]

    def seconds(self, ticks: int) -> Fraction:
        """Return ticks as seconds."""
        return Fraction(ticks, self.timescale)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
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
        """Return what `to_json` wrote."""
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
        """Return a rendition by its name."""
        return next((each for each in self.renditions if each.id == rendition_id), None)

    @property
    def video_renditions(self) -> list[Rendition]:
        """The video renditions."""
        return [each for each in self.renditions if each.size is not None]

    @property
    def audio_rendition(self) -> Rendition | None:
        """The sound, if the source has any."""
        return self.find(AUDIO)

    @property
    def duration_s(self) -> Fraction:
        """From time zero to the end of whatever lasts longest."""
        return max(each.seconds(each.bounds[-1]) for each in self.renditions)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return {"renditions": [each.to_json() for each in self.renditions]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return what `to_json` wrote."""
        return cls(tuple(Rendition.from_json(each) for each in data["renditions"]))


def main_size(width_px: int, height_px: int) -> RenditionSize:
    """Return how large the main rendition is when it has to be encoded."""
    return _fitted(width_px, height_px, LARGEST_SHORT_SIDE_PX)


def smaller_sizes(width_px: int, height_px: int, main: RenditionSize) -> dict[str, RenditionSize]:
    """Return the smaller video renditions by name, the one for scrubbing last."""
    short_px = min(main.width_px, main.height_px)
    sizes = {
        name: _fitted(width_px, height_px, side_px)
        for name, side_px in STEPS_PX.items()
        if side_px < short_px
    }
    scrub = _scaled(width_px, height_px, Fraction(min(SCRUB_WIDTH_PX, width_px), width_px))
    return {**sizes, SCRUB: scrub}


def max_bits_per_s(size: RenditionSize, fps: Fraction) -> int:
    """Return how much an encoded rendition may need; small pictures need more for each pixel."""
    bits = round(_FULL_HD_BITS_PER_S * (1.5 if fps > _FAST_FPS else 1))
    return scaled_bits_per_s(bits, of=_FULL_HD, size=size)


def scaled_bits_per_s(bits_per_s: int, *, of: RenditionSize, size: RenditionSize) -> int:
    """Return what a smaller picture needs where one of the size `of` needs so much."""
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
    if len(bounds) > 1 and end - bounds[-1] < _SHORTEST_TAIL_S * timescale:
        bounds.pop()
    return (*bounds, end)


def with_short_start(
    bounds: tuple[int, ...], instants: Sequence[int], *, timescale: int
) -> tuple[int, ...]:
    """Return bounds, of which the first segment is cut into shorter ones if it is long.

    A copy can begin only where its source has keyframes; what is encoded need not wait for them.
    """
    end = bounds[1]
    if end - bounds[0] <= _LONG_START_S * timescale:
        return bounds
    return (
        *segment_bounds(instants[: bisect_left(instants, end)], end, timescale=timescale),
        *bounds[2:],
    )


def longest_segment(bounds: Sequence[int]) -> int:
    """Return the length of the longest segment."""
    return max(after - before for before, after in pairwise(bounds))


def with_measured_bits(rendition: Rendition, segment_bytes: Sequence[int]) -> Rendition:
    """Return the rendition with the rates that its segments really have."""
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
    # Odd sides lose a row: one more would have to be made up.
    whole = int(side_px) if side_px.denominator == 1 else round(side_px / 2) * 2
    return max(2, whole // 2 * 2)
