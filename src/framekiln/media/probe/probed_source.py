"""The facts of a source, as values, and the task that probes it.

Plans, films, pages, single frames and metadata all use these facts. Callers of the task need not
import the probe.
"""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

from framekiln.kit.media_kind import MediaKind
from framekiln.timeline import read_fraction


@dataclass(frozen=True, kw_only=True)
class ProbedSource:
    """The facts of a source; rates and durations are exact. None means absent."""

    kind: MediaKind
    size_bytes: int
    codec: str | None = None
    """The codec of the video; for other kinds of files, their format."""
    width_px: float | None = None
    """As displayed: rotated, with square pixels. Whole except for Lottie animations."""
    height_px: float | None = None
    rotation_degrees: int = 0
    """Counter-clockwise, already applied to width and height."""
    is_upright: bool = True
    """Of a video: whether frames are stored as they are shown, neither rotated nor mirrored."""
    has_alpha: bool = False
    is_interlaced: bool = False
    duration_s: Fraction | None = None
    """None for still images and captions."""
    fps: Fraction | None = None
    frame_ms: tuple[Fraction, ...] = ()
    """Duration of each frame of an animated image."""
    plays: int | None = None
    """How often an animated image plays; None means forever."""
    sound_codec: str | None = None
    rate_hz: int | None = None
    channels: int | None = None

    @property
    def has_sound(self) -> bool:
        """Whether it has audio."""
        return self.sound_codec is not None

    @property
    def is_moving(self) -> bool:
        """Whether it is a video or an animated image."""
        is_animated = self.kind is MediaKind.IMAGE and self.duration_s is not None
        return self.kind is MediaKind.VIDEO or is_animated

    @property
    def bits_per_s(self) -> int | None:
        """The mean bit rate of the whole file."""
        return round(8 * self.size_bytes / self.duration_s) if self.duration_s else None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; fractions are strings."""
        exact = {name: value and str(value) for name, value in self._fractions.items()}
        return {**asdict(self), **exact, "frame_ms": [str(each) for each in self.frame_ms]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ProbedSource":
        """Parse what `to_json` returned."""
        read: dict[str, Any] = {
            name: read_fraction(value[name]) for name in _FRACTIONS if value[name] is not None
        }
        read["frame_ms"] = tuple(read_fraction(each) for each in value["frame_ms"])
        return cls(**{**value, **read, "kind": MediaKind(value["kind"])})

    @property
    def _fractions(self) -> dict[str, Fraction | None]:
        return {name: getattr(self, name) for name in _FRACTIONS}


_FRACTIONS: Final = ("duration_s", "fps")
