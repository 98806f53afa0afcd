"""What is previewed, and what the page is told about it. Values and interfaces only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from framekiln.capture.page_session import ConsoleEntry
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.audio_clips import AudioClips
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmPlan
from framekiln.engine.tracks import TimelineTrack

JsonObject = Mapping[str, Any]
FrameFormat = Literal["jpeg", "png"]


@dataclass(frozen=True)
class FilmChoice:
    """The container and the preset of a film."""

    container: str = "mp4"
    preset: RenderPreset = RenderPreset.STANDARD


@dataclass(frozen=True)
class DataForm:
    """The data of a composition, and what is known about them before it is opened."""

    kind: Literal["page", "config", "template"]
    data: JsonObject | None = None
    """Render data of a page, inputs of a template."""
    inputs: JsonObject | None = None
    """Of a template: the rules of its inputs, by name."""


@dataclass(frozen=True)
class PreviewInput:
    """A composition as it was read, ready to be opened."""

    order: FilmOrder
    warnings: tuple[str, ...] = ()


class CompositionReader(Protocol):
    """Reads the composition, as often as it changes. Called in threads."""

    @property
    def name(self) -> str:
        """Its name for people, and that of its films."""
        ...

    def read(self, data: JsonObject | None, choice: FilmChoice, scratch: Path) -> PreviewInput:
        """Read it from its files; `scratch` is a folder that nothing else uses."""
        ...

    def form(self, data: JsonObject | None) -> DataForm:
        """Return the form of its data, also if it cannot be opened with these."""
        ...

    def has_changed(self) -> bool:
        """Whether one of its files has changed since the last call, or since it was used."""
        ...


@dataclass(frozen=True)
class OpenedFilm:
    """A composition that was opened: what is known before its first frame."""

    plan: FilmPlan
    is_declarative: bool
    tracks: tuple[TimelineTrack, ...]
    audio_clips: AudioClips

    @property
    def has_sound(self) -> bool | None:
        """Whether it has sound; None if only its scripts know."""
        if self.audio_clips or self.plan.has_page_audio:
            return True
        return False if self.is_declarative else None


@dataclass(frozen=True)
class FilmNotes:
    """What the composition reported so far."""

    warnings: tuple[str, ...] = ()
    console: tuple[ConsoleEntry, ...] = ()


@dataclass(frozen=True)
class PreviewProblem:
    """Why a composition cannot be shown."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PreviewVersion:
    """One state of the composition's files and data."""

    name: str
    input: PreviewInput | None = None
    film: OpenedFilm | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the page needs for its picture, time and timeline."""
        film = self.film
        plan = film.plan if film else None
        timeline = plan.timeline if plan else None
        rate = f"{timeline.fps.numerator}/{timeline.fps.denominator}" if timeline else "30/1"
        return {
            "version": self.name,
            "width": plan.size.width_px if plan else 0,
            "height": plan.size.height_px if plan else 0,
            "fps": rate,
            "frame_count": timeline.frame_count if timeline else 0,
            "duration_ms": timeline.duration_ms if timeline else 0,
            "tracks": [asdict(track) for track in film.tracks] if film else [],
            "has_sound": film.has_sound if film else False,
            "is_declarative": film.is_declarative if film else True,
        }
