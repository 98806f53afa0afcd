"""The figures of a comparison, and their table. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.peers.process import Usage

OURS: Final = "Framekiln"
MIN_SSIM: Final = 0.97
"""Encoders and the JPEG screenshots of peers cost about 0.01; another picture costs far more."""
HEADINGS: Final = (
    "film",
    "made by",
    "CPU ms a frame, marginal",
    "CPU ms a frame, whole film",
    "wall s",
    "peak MiB",
    "marginal / encoding",
    "marginal / Framekiln",
    "whole / Framekiln",
    "SSIM",
)
_NONE: Final = "-"


@dataclass(frozen=True)
class FilmCost:
    """What two films of one page took: a short one, and a long one that begins alike."""

    short: Usage
    long: Usage
    short_frames: int
    long_frames: int

    @property
    def marginal_ms(self) -> float:
        """Processor time of each further frame: without starting programs and browsers."""
        more = self.long_frames - self.short_frames
        return (self.long.cpu_s - self.short.cpu_s) / more * 1000

    @property
    def whole_ms(self) -> float:
        """Processor time of the long film, per frame."""
        return self.long.cpu_s / self.long_frames * 1000


@dataclass(frozen=True)
class PeerRow:
    """One film by one tool, or by encoding alone."""

    film: str
    maker: str
    cost: FilmCost | None
    ssim: float | None = None
    """The least likeness of some frames with those of Framekiln."""
    failure: str | None = None
    is_baseline: bool = False

    @property
    def is_alike(self) -> bool:
        """Whether the pictures agree, if they were compared."""
        return self.ssim is None or self.ssim >= MIN_SSIM


def table_of(rows: Sequence[PeerRow]) -> list[tuple[str, ...]]:
    """Return the cells of the table, without its headings."""
    return [_cells(row, rows) for row in rows]


def markdown_of(rows: Sequence[PeerRow]) -> str:
    """Return the table in Markdown."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *table_of(rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def notes_of(rows: Sequence[PeerRow]) -> list[str]:
    """Return what is missing in the table, and which pictures do not agree."""
    failed = [f"{row.film}: {row.maker} failed: {row.failure}" for row in rows if row.failure]
    other = [
        f"{row.film}: pictures of {row.maker} differ from ours, SSIM {row.ssim:.3f}"
        for row in rows
        if not row.is_alike
    ]
    return [*failed, *other]


def ratio_to(row: PeerRow, other: PeerRow | None, attribute: str) -> float | None:
    """Return how many times as much a row took; None if one of both is unknown."""
    if row.cost is None or other is None or other.cost is None:
        return None
    base = float(getattr(other.cost, attribute))
    return float(getattr(row.cost, attribute)) / base if base > 0 else None


def _cells(row: PeerRow, rows: Iterable[PeerRow]) -> tuple[str, ...]:
    same = [other for other in rows if other.film == row.film]
    baseline = next((other for other in same if other.is_baseline), None)
    ours = next((other for other in same if other.maker == OURS), None)
    if row.cost is None:
        return (row.film, row.maker, "failed", *(_NONE for _ in HEADINGS[3:]))
    return (
        row.film,
        row.maker,
        f"{row.cost.marginal_ms:.1f}",
        f"{row.cost.whole_ms:.1f}",
        f"{row.cost.long.wall_s:.1f}",
        f"{row.cost.long.peak_mib:.0f}" if row.cost.long.peak_mib else _NONE,
        _times(ratio_to(row, baseline, "marginal_ms")),
        _times(None if row.is_baseline else ratio_to(row, ours, "marginal_ms")),
        _times(None if row.is_baseline else ratio_to(row, ours, "whole_ms")),
        _NONE if row.ssim is None else f"{row.ssim:.3f}",
    )


def _times(ratio: float | None) -> str:
    return _NONE if ratio is None else f"{ratio:.2f}x"
