"""What a render will be, once its page has said so; kept with the render as JSON. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from framekiln.capture.page import FrameSize
from framekiln.engine.audio_clips import LayerAudioClip, PageAudioClip
from framekiln.engine.digests import FilmDigests
from framekiln.engine.film_settings import FilmSettings
from framekiln.media.audio.mix_settings import NO_MASTERING, AudioCoding, Mastering
from framekiln.timeline import Timeline

Sounds = tuple[PageAudioClip | LayerAudioClip, ...]


@dataclass(frozen=True)
class RenderPlan:
    """The film to be made."""

    size: FrameSize
    timeline: Timeline
    sounds: Sounds
    warnings: tuple[str, ...]
    has_page_sound: bool = False
    """Whether sound comes from the page, with the last slice, and there is nothing to mix."""
    mastering: Mastering = NO_MASTERING
    sound_coding: AudioCoding = AudioCoding.AAC
    sound_digest: str | None = None
    """What the sound will be made of, if equal ones can be told."""
    sound_sources: Mapping[str, str] = field(default_factory=dict)
    """The digests of what is heard, by address, as they were when it was planned."""

    @classmethod
    def of(
        cls, shot: FilmSettings, digests: FilmDigests, *, warnings: tuple[str, ...]
    ) -> "RenderPlan":
        """Keep what later jobs need of a shot."""
        return cls(
            size=shot.size,
            timeline=shot.timeline,
            sounds=shot.audio_clips,
            warnings=warnings,
            has_page_sound=shot.has_page_audio,
            mastering=shot.mastering,
            sound_coding=shot.sound_coding,
            sound_digest=digests.sound,
            sound_sources=digests.sound_sources,
        )

    def as_json(self) -> dict[str, Any]:
        """Return it as plain JSON; rates are fractions written as text."""
        return {
            "width_px": self.size.width_px,
            "height_px": self.size.height_px,
            "fps": str(self.timeline.fps),
            "frame_count": self.timeline.frame_count,
            "sounds": [_sound_as_json(sound) for sound in self.sounds],
            "warnings": list(self.warnings),
            "has_page_sound": self.has_page_sound,
            "mastering": asdict(self.mastering),
            "sound_coding": self.sound_coding.name,
            "sound_digest": self.sound_digest,
            "sound_sources": dict(self.sound_sources),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "RenderPlan":
        """Read what `as_json` wrote."""
        return cls(
            size=FrameSize(value["width_px"], value["height_px"]),
            timeline=Timeline(fps=Fraction(value["fps"]), frame_count=value["frame_count"]),
            sounds=tuple(_sound_from_json(sound) for sound in value["sounds"]),
            warnings=tuple(value["warnings"]),
            has_page_sound=value.get("has_page_sound", False),
            mastering=Mastering(**value.get("mastering", {})),
            sound_coding=AudioCoding[value.get("sound_coding", AudioCoding.AAC.name)],
            sound_digest=value.get("sound_digest"),
            sound_sources=value.get("sound_sources", {}),
        )


def _sound_as_json(sound: PageAudioClip | LayerAudioClip) -> dict[str, Any]:
    return sound.as_json() if isinstance(sound, LayerAudioClip) else asdict(sound)


def _sound_from_json(value: dict[str, Any]) -> PageAudioClip | LayerAudioClip:
    return (
        LayerAudioClip.from_json(value) if "layer_id" in value else PageAudioClip.from_json(value)
    )
