"""What a render will be, once its page has said so; kept with the render as JSON. Pure."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from framekiln.capture.page import Size
from framekiln.engine.shot import MediaWindow, Shot
from framekiln.timeline import Timeline


@dataclass(frozen=True)
class RenderPlan:
    """The film to be made."""

    size: Size
    timeline: Timeline
    sounds: tuple[MediaWindow, ...]
    warnings: tuple[str, ...]
    has_page_sound: bool = False
    """Whether sound comes from the page, with the last slice, and there is nothing to mix."""

    @classmethod
    def of(cls, shot: Shot) -> "RenderPlan":
        """Keep what later jobs need of a shot."""
        return cls(shot.size, shot.timeline, shot.sounds, shot.warnings, shot.has_page_sound)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON; rates are fractions written as text."""
        return {
            "width_px": self.size.width_px,
            "height_px": self.size.height_px,
            "fps": str(self.timeline.fps),
            "frame_count": self.timeline.frame_count,
            "sounds": [asdict(sound) for sound in self.sounds],
            "warnings": list(self.warnings),
            "has_page_sound": self.has_page_sound,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RenderPlan":
        """Read what `as_json` wrote."""
        return cls(
            size=Size(value["width_px"], value["height_px"]),
            timeline=Timeline(fps=Fraction(value["fps"]), frame_count=value["frame_count"]),
            sounds=tuple(MediaWindow(**sound) for sound in value["sounds"]),
            warnings=tuple(value["warnings"]),
            has_page_sound=value.get("has_page_sound", False),
        )
