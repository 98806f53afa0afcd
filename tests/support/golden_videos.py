"""Golden videos: the contents of a folder of tests/e2e/videos.

A folder has `config.json`, as a user would post it, or `template.json` with `data.json`; a sheet of
frames, and the loudness of each tenth of a second. scripts/make_goldens.py writes the last two;
tests never do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.composition.layers import LayerConfig, ReadOptions, read_config
from framekiln.composition.templates import fill_template, read_template
from framekiln.engine.assets import Assets
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from tests.support.frame_codes import Picture
from tests.support.looks import packets_of, pictures_at
from tests.support.sounds import decode_audio, rms
from tests.support.timeouts import FILM_LIMITS

FOLDER = Path(__file__).parents[1] / "e2e" / "videos"
COLUMNS, ROWS = 3, 2
MAX_CELL_PX = 240
QUALITY = 93
STRETCH_S = Fraction(1, 10)
# Allowed differences of encoders: a fraction of the loudness, and noise near silence.
LOUDER, NOISE = 0.05, 0.003


@dataclass(frozen=True)
class GoldenVideo:
    """One folder."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def config_path(self) -> Path:
        """The request body: a config, or a template."""
        path = self.folder / "config.json"
        return path if path.exists() else self.folder / "template.json"

    @property
    def sheet_path(self) -> Path:
        return self.folder / "sheet.jpg"

    @property
    def levels_path(self) -> Path:
        return self.folder / "levels.json"

    @cached_property
    def config(self) -> LayerConfig:
        """The config, parsed without any warning."""
        posted = json.loads(self.config_path.read_text("utf-8"))
        if self.config_path.name == "config.json":
            return _without_warnings(read_config(posted))
        template = read_template(posted["config"], posted["inputs"], posted["default_values"])
        data = json.loads((self.folder / "data.json").read_text("utf-8"))
        filled = fill_template(template.template, data)
        assert (template.warnings, filled.warnings) == ((), ())
        return _without_warnings(read_config(filled.config, ReadOptions(is_filled_template=True)))

    @property
    def sheet(self) -> Picture:
        """The golden frames, side by side."""
        with Image.open(self.sheet_path) as image:
            return np.asarray(image.convert("RGB"))

    @property
    def levels(self) -> list[float]:
        """The golden loudness."""
        levels: list[float] = json.loads(self.levels_path.read_text("utf-8"))
        return levels

    def write(self, filmed: "RenderedVideo") -> None:
        """Write the goldens of this folder."""
        image = Image.fromarray(filmed.sheet)
        image.save(self.sheet_path, quality=QUALITY, subsampling=0, optimize=True)
        self.levels_path.write_text(json.dumps(filmed.levels) + "\n", "utf-8")


def _without_warnings(read: Any) -> LayerConfig:
    assert read.warnings == ()
    config: LayerConfig = read.config
    return config


def golden_videos() -> list[GoldenVideo]:
    """Return every folder with a request body, by name."""
    found = [*FOLDER.glob("*/config.json"), *FOLDER.glob("*/template.json")]
    return [GoldenVideo(folder) for folder in sorted(path.parent for path in found)]


@dataclass(frozen=True)
class RenderedVideo:
    """The video of a folder's config."""

    video: GoldenVideo
    path: Path
    warnings: tuple[str, ...]

    @cached_property
    def sheet(self) -> Picture:
        """Frames at regular times of the film, row by row, each in the size of a cell."""
        count = COLUMNS * ROWS
        frame_count = len(packets_of(self.path))
        numbers = [frame_count * (2 * n + 1) // (2 * count) for n in range(count)]
        chosen = [_reduced(picture) for picture in pictures_at(self.path, numbers)]
        rows = [np.hstack(chosen[start : start + COLUMNS]) for start in range(0, count, COLUMNS)]
        return np.vstack(rows)

    @cached_property
    def levels(self) -> list[float]:
        """The loudness of each tenth of a second."""
        sound = decode_audio(self.path)
        length = int(STRETCH_S * sound.rate_hz)
        starts = range(0, len(sound.mono) - length + 1, length)
        return [round(rms(sound.mono[start : start + length]), 4) for start in starts]


def cells(sheet: Picture) -> Mapping[int, Picture]:
    """Cut a sheet into its frames, by number."""
    rows = np.split(sheet, ROWS, axis=0)
    parts = [cell for row in rows for cell in np.split(row, COLUMNS, axis=1)]
    return dict(enumerate(parts))


def sounds_alike(levels: list[float], golden: list[float]) -> bool:
    """Whether two audio tracks have the same length and the same loudness everywhere."""
    if len(levels) != len(golden):
        return False
    pairs = zip(levels, golden, strict=True)
    return all(abs(one - other) <= max(NOISE, LOUDER * other) for one, other in pairs)


def film_video(
    video: GoldenVideo, browser: Browser, folder: Path, *, assets: Assets
) -> RenderedVideo:
    """Render the film of a folder's config."""
    path = folder / f"{video.name}.mp4"
    order = FilmOrder(layers=video.config, assets=assets)
    film = make_film(order, browser, path, limits=FILM_LIMITS)
    return RenderedVideo(video, path, film.record.warnings)


def _reduced(picture: Picture) -> Picture:
    image = Image.fromarray(picture)
    image.thumbnail((MAX_CELL_PX, MAX_CELL_PX), Image.Resampling.BOX)
    return np.asarray(image)
