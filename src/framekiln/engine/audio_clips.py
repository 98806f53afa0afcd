"""The audio clips of a film and their times. Values only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, Final

from framekiln.engine.assets import FILE_ID
from framekiln.kit.errors import InvalidInput

MAX_AUDIO_CLIPS: Final = 50_000
"""A limit, because each clip is opened and decoded on its own."""


@dataclass(frozen=True)
class PageAudioClip:
    """A part of a source that a page's element plays."""

    element: str
    src: str | None
    file_id: str | None
    start_ms: float
    end_ms: float
    source_in_ms: float
    gain: float
    speed: float = 1.0
    keeps_pitch: bool = True
    gains: tuple[tuple[float, float], ...] = ()
    """Factors of `gain` at milliseconds of the film, with linear interpolation between them."""

    @property
    def is_audible(self) -> bool:
        """Whether its gain is ever above zero."""
        return self.gain > 0 and (not self.gains or any(factor > 0 for _, factor in self.gains))

    @property
    def source(self) -> str:
        """The address to fetch it from."""
        return FILE_ID + (self.file_id or "") if self.src is None else self.src

    @classmethod
    def from_plan(cls, entry: dict[str, Any], *, film_ms: float) -> "PageAudioClip":
        """Read one entry of the page's plan; the clip ends where its source ends."""
        start_ms, source_in_ms = float(entry["startMs"]), float(entry["sourceInMs"])
        speed = float(entry.get("rate", 1))
        ends_ms = [film_ms if entry["endMs"] is None else float(entry["endMs"])]
        if entry.get("sourceOutMs") is not None:
            ends_ms.append(start_ms + (float(entry["sourceOutMs"]) - source_in_ms) / speed)
        return cls(
            element=str(entry["element"]),
            src=entry["src"],
            file_id=entry["fileId"],
            start_ms=start_ms,
            end_ms=min(ends_ms),
            source_in_ms=source_in_ms,
            gain=float(entry["gain"]),
            speed=speed,
            keeps_pitch=bool(entry.get("keepsPitch", True)),
            gains=_points(entry.get("gains", ())),
        )

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "PageAudioClip":
        """Read the JSON of what `asdict` returned."""
        return cls(**{**value, "gains": _points(value.get("gains", ()))})


def audible_clips(
    entries: Iterable[dict[str, Any]], *, film_ms: float
) -> tuple[PageAudioClip, ...]:
    """Return the audible clips of the page's plan."""
    clips = (PageAudioClip.from_plan(entry, film_ms=film_ms) for entry in entries)
    audible = tuple(islice((clip for clip in clips if clip.is_audible), MAX_AUDIO_CLIPS + 1))
    if len(audible) > MAX_AUDIO_CLIPS:
        raise InvalidInput(
            f"the page plays, stops or seeks its sounds more than {MAX_AUDIO_CLIPS:,} times:"
            " seek less often, or while they are paused"
        )
    return audible


def _points(values: Iterable[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    return tuple((float(at_ms), float(factor)) for at_ms, factor in values)


@dataclass(frozen=True)
class PageAudio:
    """Sound that a page produced itself, audible from `start_ms` of the film on."""

    path: Path
    start_ms: Fraction = Fraction(0)


@dataclass(frozen=True)
class LayerAudioClip:
    """A part of a source as a layer plays it, at its speed and with its gains.

    All times but `source_in_ms` are milliseconds of the film.
    """

    layer_id: str
    source: str
    start_ms: Fraction
    end_ms: Fraction
    source_in_ms: Fraction
    speed: Fraction
    gains: tuple[tuple[Fraction, float], ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON; times are fractions written as text."""
        times = ("start_ms", "end_ms", "source_in_ms", "speed")
        return {
            "layer_id": self.layer_id,
            "source": self.source,
            **{name: str(getattr(self, name)) for name in times},
            "gains": [[str(at_ms), factor] for at_ms, factor in self.gains],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "LayerAudioClip":
        """Read what `as_json` wrote."""
        times = ("start_ms", "end_ms", "source_in_ms", "speed")
        return cls(
            layer_id=value["layer_id"],
            source=value["source"],
            **{name: Fraction(value[name]) for name in times},
            gains=tuple((Fraction(at_ms), float(factor)) for at_ms, factor in value["gains"]),
        )


AudioClips = tuple[PageAudioClip | LayerAudioClip, ...]
