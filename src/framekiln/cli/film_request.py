"""What `framekiln render` is asked for, as plain values that can be sent to another process."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from framekiln.cli.json_input import read_object
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.page.render_data import render_data_json


@dataclass(frozen=True)
class FilmRequest:
    """A film, or a still if `at_ms` is set."""

    composition: Path
    page: str | None
    """The page itself, if it was read from standard input."""
    format: str
    width_px: int | None = None
    height_px: int | None = None
    fps: Fraction | None = None
    duration_ms: int | None = None
    at_ms: int | None = None
    is_transparent: bool = False
    preset: RenderPreset = RenderPreset.STANDARD
    data: str | None = None
    """A JSON object."""

    def as_json(self) -> dict[str, Any]:
        """Return what `read_request` reads."""
        texts = {"composition": str(self.composition), "preset": self.preset.value}
        return {**vars(self), **texts, "fps": None if self.fps is None else str(self.fps)}


def read_request(values: dict[str, Any]) -> FilmRequest:
    """Return the request that `as_json` described."""
    fps = values["fps"]
    return FilmRequest(
        **{
            **values,
            "composition": Path(values["composition"]),
            "preset": RenderPreset(values["preset"]),
            "fps": None if fps is None else Fraction(fps),
        }
    )


def read_data(text: str | None, file: Path | None) -> str | None:
    """Return the render data of `--data` or `--data-file` as JSON."""
    found = read_object(text, file)
    return None if found is None else render_data_json(found)
