"""A track of a film cut into segments: one blob of bytes, and an index of byte ranges."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from framekiln.media.segments.film_segments import FilmSegment, TrackHeader


@dataclass(frozen=True)
class HlsPackage:
    """The index. The header comes first, followed by all segments."""

    codecs: str
    timescale: int
    width_px: int
    height_px: int
    init_bytes: int
    segment_bytes: tuple[int, ...]
    segment_ticks: tuple[int, ...]

    @classmethod
    def write(cls, path: Path, header: TrackHeader, segments: Iterable[FilmSegment]) -> Self:
        """Write the bytes and return the index."""
        sizes, ticks = [], []
        with path.open("wb") as file:
            file.write(header.init)
            for segment in segments:
                sizes.append(file.write(segment.data))
                ticks.append(segment.ticks)
        return cls(
            codecs=header.codecs,
            timescale=header.timescale,
            width_px=header.width_px,
            height_px=header.height_px,
            init_bytes=len(header.init),
            segment_bytes=tuple(sizes),
            segment_ticks=tuple(ticks),
        )

    def byte_range(self, number: int) -> tuple[int, int] | None:
        """Return the byte range of a segment; None if there is no such segment."""
        if not 0 <= number < len(self.segment_bytes):
            return None
        start = self.init_bytes + sum(self.segment_bytes[:number])
        return start, start + self.segment_bytes[number]

    @property
    def peak_bits_per_s(self) -> int:
        """The bit rate of the segment with the highest rate."""
        rates = (
            8 * size * self.timescale / ticks
            for size, ticks in zip(self.segment_bytes, self.segment_ticks, strict=True)
        )
        return round(max(rates, default=0))

    def to_json(self) -> bytes:
        """Return the index in its stored format."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read the output of `to_json`."""
        fields = json.loads(data)
        for name in ("segment_bytes", "segment_ticks"):
            fields[name] = tuple(fields[name])
        return cls(**fields)
