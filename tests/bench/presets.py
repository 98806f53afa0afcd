"""What the presets take and give: time, bytes and likeness over frames of golden compositions."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import mean
from typing import Final

from av.video.frame import VideoFrame
from rich.console import Console
from rich.table import Table

from framekiln.capture.browser import open_browser
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import PRESET_SETTINGS
from framekiln.media.encode.film_encoder import VideoSettings
from tests.bench.exact_frames import encode, exact_frames
from tests.bench.peers.cases import CASES
from tests.bench.peers.films import Film
from tests.bench.peers.tools import framekiln_page
from tests.support.golden import FOLDER, GoldenComposition
from tests.support.local_assets import LocalAssets
from tests.support.looks import iter_frames, ssim
from tests.support.stock_media import stock_makers

GOLDENS: Final = (
    "canvas-particles",
    "crossfaded-clips",
    "kinetic-type",
    "slideshow-with-music",
    "talking-head-captions",
)
PAGES: Final = ("titles", "canvas")
"""Of `make bench-peers`, in 720p."""
FPS: Final = Fraction(30)
DURATION_MS: Final = 2000
COMPARED_EVERY: Final = 12


@dataclass(frozen=True)
class PresetRow:
    """One composition with one preset, beside the same with `standard`."""

    name: str
    preset: str
    cpu_ratio: float
    """Of the encoder alone."""
    byte_ratio: float
    mean_ssim: float
    worst_ssim: float


def measure_presets() -> list[PresetRow]:
    """Encode the frames of each composition with all presets."""
    rows: list[PresetRow] = []
    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        folder = Path(name)
        assets = LocalAssets(folder / "media", stock_makers())
        for film, order in _orders(assets):
            rows += _rows(film, exact_frames(order, browser, folder), folder)
    return [*rows, *(_summary(preset.value, rows) for preset in RenderPreset)]


def _orders(assets: LocalAssets) -> Iterator[tuple[str, FilmOrder]]:
    for name in GOLDENS:
        html = GoldenComposition(FOLDER / name).html
        yield name, FilmOrder(html, fps=FPS, duration_ms=DURATION_MS, assets=assets)
    for name in PAGES:
        film = Film(CASES[name], 720, round(FPS * DURATION_MS / 1000))
        html, size = framekiln_page(film), (film.width, film.height)
        yield f"{name} 720p", FilmOrder(html, *size, fps=FPS, duration_ms=DURATION_MS)


def print_presets(rows: list[PresetRow]) -> None:
    """Write the table."""
    table = Table(title="Presets, beside standard")
    for column in ("film", "preset", "encoder CPU", "bytes", "mean SSIM", "worst SSIM"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row.name,
            row.preset,
            f"{row.cpu_ratio:.2f}x",
            f"{row.byte_ratio:.2f}x",
            f"{row.mean_ssim:.4f}",
            f"{row.worst_ssim:.4f}",
        )
    Console(width=120).print(table)


@dataclass(frozen=True)
class _Encoded:
    cpu_s: float
    size_bytes: int
    likeness: list[float]


def _rows(name: str, frames: list[VideoFrame], folder: Path) -> list[PresetRow]:
    reference = folder / "reference.mp4"
    encode(frames, VideoSettings(frames[0].width, frames[0].height, FPS, crf=1), reference)
    made = {
        preset: _encode(preset, frames, folder / "film.mp4", reference) for preset in RenderPreset
    }
    standard = made[RenderPreset.STANDARD]
    return [
        PresetRow(
            name,
            preset.value,
            each.cpu_s / standard.cpu_s,
            each.size_bytes / standard.size_bytes,
            mean(each.likeness),
            min(each.likeness),
        )
        for preset, each in made.items()
    ]


def _encode(
    preset: RenderPreset, frames: list[VideoFrame], path: Path, reference: Path
) -> _Encoded:
    effort = PRESET_SETTINGS[preset].video
    size = (frames[0].width, frames[0].height)
    settings = VideoSettings(*size, FPS, preset=effort.preset, crf=effort.crf)
    cpu_s, _ = encode(frames, settings, path)
    pairs = enumerate(zip(iter_frames(reference), iter_frames(path), strict=True))
    likeness = [ssim(a.rgb, b.rgb) for number, (a, b) in pairs if number % COMPARED_EVERY == 0]
    return _Encoded(cpu_s, path.stat().st_size, likeness)


def _summary(preset: str, rows: list[PresetRow]) -> PresetRow:
    same = [row for row in rows if row.preset == preset]
    return PresetRow(
        "mean of all",
        preset,
        mean(row.cpu_ratio for row in same),
        mean(row.byte_ratio for row in same),
        mean(row.mean_ssim for row in same),
        min(row.worst_ssim for row in same),
    )
