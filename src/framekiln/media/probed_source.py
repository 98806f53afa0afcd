"""What a source of a layer was found to be, as values, and the task that finds it out.

Whoever orders the task need not import what looks at the source.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

TASK: Final = "framekiln.media.source_probe:task"

MEDIA: Final = "media"
IMAGE: Final = "image"
CAPTIONS: Final = "captions"
ANIMATION: Final = "animation"


@dataclass(frozen=True)
class ProbedSource:
    """What was found; rates and lengths are exact. None where there is no such thing."""

    size_bytes: int
    codec: str | None = None
    width_px: int | None = None
    height_px: int | None = None
    duration_s: Fraction | None = None
    fps: Fraction | None = None
    sound_codec: str | None = None
    rate_hz: int | None = None
    channels: int | None = None

    @property
    def has_sound(self) -> bool:
        """Whether anything can be heard."""
        return self.sound_codec is not None

    @property
    def bits_per_s(self) -> int | None:
        """The mean rate of the whole file."""
        return round(8 * self.size_bytes / self.duration_s) if self.duration_s else None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; fractions are text."""
        exact = {name: value and str(value) for name, value in self._fractions.items()}
        return {**asdict(self), **exact}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ProbedSource":
        """Read what `to_json` wrote."""
        exact = {name: Fraction(value[name]) for name in _FRACTIONS if value[name]}
        return cls(**{**value, **exact})

    @property
    def _fractions(self) -> dict[str, Fraction | None]:
        return {name: getattr(self, name) for name in _FRACTIONS}


_FRACTIONS: Final = ("duration_s", "fps")
