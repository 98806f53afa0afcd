"""The plan of a film: size, frame rate, length and sound, and how it is cut into slices. Pure.

The first worker of a render makes the plan; later jobs read it from the render's row, as JSON.

What each `RenderPreset` means for the encoders is here, too; figures are in docs/howto/presets.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, Final

from framekiln.capture.page import FrameSize, PageFacts
from framekiln.composition.likely_size import likely_size
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.audio_clips import (
    AudioClips,
    LayerAudioClip,
    PageAudioClip,
    audible_clips,
)
from framekiln.engine.errors import LengthUnknown
from framekiln.engine.film_bounds import MAX_DURATION_MS, MAX_SIDE_PX
from framekiln.engine.film_order import (
    DEFAULT_FPS,
    DEFAULT_SIZE,
    FilmOrder,
)
from framekiln.kit.errors import InvalidInput
from framekiln.kit.warning_text import (
    WarningText,
    codes_by_text,
    warnings_as_json,
    warnings_from_json,
)
from framekiln.media.audio.mix_settings import (
    NO_MASTERING,
    STANDARD_AUDIO,
    STANDARD_AUDIO_BITS_PER_S,
    AudioCoding,
    AudioSettings,
    Mastering,
)
from framekiln.media.encode.codecs import EncoderEffort
from framekiln.media.film_containers import film_container
from framekiln.timeline import Timeline, exact_rate


@dataclass(frozen=True)
class PresetSettings:
    """Encoder settings of one preset."""

    video: EncoderEffort
    audio_bits_per_s: int

    def audio(self, coding: AudioCoding) -> AudioSettings:
        """Return the settings of the sound."""
        return AudioSettings(coding, self.audio_bits_per_s)


PRESET_SETTINGS: Final = {
    RenderPreset.DRAFT: PresetSettings(EncoderEffort("superfast", 27), 128_000),
    RenderPreset.STANDARD: PresetSettings(EncoderEffort(), STANDARD_AUDIO_BITS_PER_S),
    RenderPreset.HIGH: PresetSettings(EncoderEffort("medium", 16), 256_000),
}


DEFAULT_SLICE_MS = 4000
COPIED_SLICE = "copied"
"""The `grabbing` of a slice whose packets were copied from a source instead of drawn."""


@dataclass(frozen=True)
class FilmPlan:
    """The film to be made."""

    size: FrameSize
    timeline: Timeline
    audio_clips: AudioClips = ()
    warnings: tuple[str, ...] = ()
    findings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Path, code, message and hint of those warnings that have them, by their text."""
    has_page_audio: bool = False
    """Whether the page produces its own sound, delivered with the last frame: nothing to mix."""
    mastering: Mastering = NO_MASTERING
    sound_settings: AudioSettings = STANDARD_AUDIO
    sound_digest: str | None = None
    """Digest of the mixed sound's inputs, if it can be cached."""
    sound_sources: Mapping[str, str] = field(default_factory=dict)
    """Digests of the audible sources, by address, at the time of planning."""

    def as_json(self) -> dict[str, Any]:
        """Return the plan as plain JSON; frame rates are fractions written as text."""
        return {
            "width_px": self.size.width_px,
            "height_px": self.size.height_px,
            "fps": str(self.timeline.fps),
            "frame_count": self.timeline.frame_count,
            "sounds": [_clip_as_json(clip) for clip in self.audio_clips],
            **warnings_as_json(self.warnings),
            "findings": dict(self.findings),
            "has_page_sound": self.has_page_audio,
            "mastering": asdict(self.mastering),
            "sound_coding": self.sound_settings.coding.name,
            "sound_bits_per_s": self.sound_settings.bits_per_s,
            "sound_digest": self.sound_digest,
            "sound_sources": dict(self.sound_sources),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "FilmPlan":
        """Read what `as_json` wrote; older versions wrote fewer fields."""
        return cls(
            size=FrameSize(value["width_px"], value["height_px"]),
            timeline=Timeline(fps=Fraction(value["fps"]), frame_count=value["frame_count"]),
            audio_clips=tuple(_clip_from_json(clip) for clip in value["sounds"]),
            warnings=warnings_from_json(value),
            findings=value.get("findings", {}),
            has_page_audio=value.get("has_page_sound", False),
            mastering=Mastering(**value.get("mastering", {})),
            sound_settings=AudioSettings(
                AudioCoding[value.get("sound_coding", AudioCoding.AAC.name)],
                value.get("sound_bits_per_s", STANDARD_AUDIO_BITS_PER_S),
            ),
            sound_digest=value.get("sound_digest"),
            sound_sources=value.get("sound_sources", {}),
        )


@dataclass(frozen=True)
class FilmDigests:
    """Digests of the inputs of slices, in order, and of the sound; None where they are unknown.

    Equal digests mean equal bytes.
    """

    slices: tuple[str | None, ...] = ()
    sound: str | None = None
    sound_sources: Mapping[str, str] = field(default_factory=dict)
    """Digests of the audible sources, by address."""


@dataclass(frozen=True)
class CaptureRecord:
    """How frames were made; stored as JSON with slices and renders."""

    grabbing: str
    fallback_reason: str | None
    """Why raw frames could not be used."""
    confinement: str
    browser: str
    captured_frames: int
    """Frames whose pixels were captured; all others repeat the one before."""
    warnings: tuple[str, ...]
    warning_codes: Mapping[str, str] = field(init=False)
    """The codes of warnings, by their text."""
    missing_confinement: tuple[str, ...] = ()
    """What pages and media lacked to be confined; only where that is allowed."""
    composed_frames: int = 0
    """Frames that were composed from layers instead of drawn by Chromium."""
    filmed_reason: str | None = None
    """Why a page, or its last slice, was not composed; only where that was wanted."""
    has_differed: bool = False
    """Whether the last slice was filmed because composed frames did not look like Chromium's."""
    whole_reason: str | None = None
    """Why any change of a page makes all its slices anew; only where slices are reused."""

    def __post_init__(self) -> None:
        """Derive the codes."""
        object.__setattr__(self, "warning_codes", codes_by_text(self.warnings))


def _clip_as_json(clip: PageAudioClip | LayerAudioClip) -> dict[str, Any]:
    return clip.as_json() if isinstance(clip, LayerAudioClip) else asdict(clip)


def _clip_from_json(value: dict[str, Any]) -> PageAudioClip | LayerAudioClip:
    kind = LayerAudioClip if "layer_id" in value else PageAudioClip
    return kind.from_json(value)


def likely_window(order: FilmOrder) -> FrameSize:
    """Return the size in which to open a page at first, before it has said its own."""
    likely = likely_size(order.html)
    sides = (
        order.width_px or likely.width_px or DEFAULT_SIZE.width_px,
        order.height_px or likely.height_px or DEFAULT_SIZE.height_px,
    )
    if max(sides) > MAX_SIDE_PX:
        return DEFAULT_SIZE
    return even_size(*sides)[0] if order.still is None else FrameSize(*sides)


def plan_page_film(order: FilmOrder, facts: PageFacts) -> FilmPlan:
    """Plan a page's film: the order takes precedence over the page, the page over the defaults."""
    width, height = order.width_px or facts.width_px, order.height_px or facts.height_px
    sides = (width or DEFAULT_SIZE.width_px, height or DEFAULT_SIZE.height_px)
    size, warnings = even_size(*sides) if order.still is None else (_whole_size(*sides), ())
    fps = order.fps or (exact_rate(facts.fps) if facts.fps else DEFAULT_FPS)
    duration_ms = order.still.at_ms + 1 if order.still else order.duration_ms or facts.duration_ms
    if not duration_ms:
        raise _length_unknown(facts)
    if not 1 <= fps <= 120:
        raise InvalidInput(f"the page asks for {float(fps):g} fps; 1 to 120 are possible")
    if duration_ms > MAX_DURATION_MS:
        raise InvalidInput(f"{duration_ms:g} ms is longer than the limit of {MAX_DURATION_MS} ms")
    return FilmPlan(
        size=size,
        timeline=Timeline.lasting(Fraction(duration_ms), fps),
        audio_clips=audible_clips(facts.plan.get("media", ()), film_ms=float(duration_ms)),
        warnings=(*warnings, *map(_page_warning, facts.plan.get("warnings", ()))),
        has_page_audio=bool(facts.plan.get("mixesSound", False)),
        sound_settings=PRESET_SETTINGS[order.preset].audio(film_container(order.container).audio),
    )


# Of what may have left a composition without length.
_MAX_CAUSES: Final = 3
_MAX_CAUSE_CHARACTERS: Final = 500


def _length_unknown(facts: PageFacts) -> LengthUnknown:
    warnings = map(_page_warning, facts.plan.get("warnings", ()))
    causes = [
        str(each)[:_MAX_CAUSE_CHARACTERS]
        for each in warnings
        if isinstance(each, WarningText) and each.code == "no_duration"
    ]
    if causes:
        return LengthUnknown(f"the composition has no length: {'; '.join(causes[:_MAX_CAUSES])}")
    return LengthUnknown(
        "the length is unknown: no duration_ms was given, and the page has neither"
        " data-duration-ms nor a finite animation; give duration_ms, or write"
        ' duration="5s" on the outermost ef-timegroup, or data-duration-ms="5000" on <html>'
    )


_PAGE_CODES: Final = {"size_unknown", "unknown_target", "no_duration", "render_info"}


def _page_warning(found: object) -> str:
    """Return what the runtime found while it planned the page, which may have changed it."""
    if not isinstance(found, Mapping):
        return str(found)
    code, text = str(found.get("code")), str(found.get("text", ""))
    return WarningText(code, text) if code in _PAGE_CODES else text


def even_size(width_px: float, height_px: float) -> tuple[FrameSize, tuple[str, ...]]:
    """Round a size up to whole, even sides, as films need them; warn if that changes it."""
    whole = _whole_size(width_px, height_px)
    size = FrameSize(*(max(2, side + side % 2) for side in (whole.width_px, whole.height_px)))
    if (size.width_px, size.height_px) == (width_px, height_px):
        return size, ()
    message = (
        f"size {width_px:g}x{height_px:g} of the composition was rounded up to"
        f" {size.width_px}x{size.height_px}: films need even sides"
    )
    return size, (WarningText("adjusted", message),)


def _whole_size(width_px: float, height_px: float) -> FrameSize:
    if max(width_px, height_px) > MAX_SIDE_PX:
        raise InvalidInput(
            f"the page is {width_px:g}x{height_px:g}; at most {MAX_SIDE_PX} pixels a side"
        )
    return FrameSize(max(1, ceil(width_px)), max(1, ceil(height_px)))


@dataclass(frozen=True)
class FilmSlice:
    """Frames `first_frame` to `first_frame + frame_count - 1` of a film.

    Slices are encoded independently and joined without encoding them again.
    """

    number: int
    first_frame: int
    frame_count: int

    @property
    def end_frame(self) -> int:
        """The frame after the last."""
        return self.first_frame + self.frame_count


def cut_slices(timeline: Timeline, slice_ms: int = DEFAULT_SLICE_MS) -> tuple[FilmSlice, ...]:
    """Cut a film into slices of about that length.

    The cuts depend on the film alone, never on who renders it: the same film has the same bytes
    whether one worker makes it or forty.
    """
    frames = max(1, round(Fraction(slice_ms) * timeline.fps / 1000))
    starts = range(0, timeline.frame_count, frames)
    return tuple(
        FilmSlice(number, start, min(frames, timeline.frame_count - start))
        for number, start in enumerate(starts)
    )
