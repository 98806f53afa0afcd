"""Size, frame rate, duration and audio of a film, from the order, the page and defaults. Pure."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from framekiln.capture.page import FrameSize, PageFacts
from framekiln.engine.audio_clips import LayerAudioClip, PageAudioClip, audible_clips
from framekiln.engine.errors import LengthUnknown
from framekiln.engine.film_order import (
    DEFAULT_FPS,
    DEFAULT_SIZE,
    MAX_DURATION_MS,
    MAX_SIDE_PX,
    FilmOrder,
)
from framekiln.kit.errors import InvalidInput
from framekiln.media.audio.mix_settings import NO_MASTERING, AudioCoding, Mastering
from framekiln.media.encode.codecs import VideoCoding
from framekiln.media.film_containers import film_container
from framekiln.timeline import Timeline, exact_rate


@dataclass(frozen=True)
class FilmSettings:
    """The film to be made."""

    size: FrameSize
    timeline: Timeline
    audio_clips: tuple[PageAudioClip | LayerAudioClip, ...]
    is_declarative: bool
    """Whether any frame can be shown without showing those before it."""
    warnings: tuple[str, ...]
    has_page_audio: bool = False
    """Whether the page mixes its sound itself and delivers it with the last frame."""
    mastering: Mastering = NO_MASTERING
    sound_coding: AudioCoding = AudioCoding.AAC
    picture_coding: VideoCoding = VideoCoding.H264


def resolve_film_settings(order: FilmOrder, facts: PageFacts) -> FilmSettings:
    """Settle size, rate and length: the order wins over the page, the page over defaults."""
    width, height = order.width_px or facts.width_px, order.height_px or facts.height_px
    asked = (width or DEFAULT_SIZE.width_px, height or DEFAULT_SIZE.height_px)
    size, warnings = even_size(*asked) if order.still is None else (_whole_size(*asked), ())
    fps = order.fps or (exact_rate(facts.fps) if facts.fps else DEFAULT_FPS)
    duration_ms = order.still.at_ms + 1 if order.still else order.duration_ms or facts.duration_ms
    if not duration_ms:
        raise LengthUnknown(
            "no duration_ms was given, and the page has neither data-duration-ms nor a finite"
            " animation to take it from"
        )
    if not 1 <= fps <= 120:
        raise InvalidInput(f"the page asks for {float(fps):g} fps; 1 to 120 are possible")
    if duration_ms > MAX_DURATION_MS:
        raise InvalidInput(f"{duration_ms:g} ms is longer than the limit of {MAX_DURATION_MS} ms")
    return FilmSettings(
        size=size,
        timeline=Timeline.lasting(Fraction(duration_ms), fps),
        audio_clips=audible_clips(facts.plan.get("media", ()), film_ms=float(duration_ms)),
        is_declarative=bool(facts.plan.get("isDeclarative", False)),
        warnings=(*warnings, *(str(warning) for warning in facts.plan.get("warnings", ()))),
        has_page_audio=bool(facts.plan.get("mixesSound", False)),
        sound_coding=film_container(order.container).audio,
        picture_coding=film_container(order.container).video,
    )


def even_size(width_px: float, height_px: float) -> tuple[FrameSize, tuple[str, ...]]:
    """Return the size an MP4 can have: whole and even, rounded up, with a warning if changed."""
    whole = _whole_size(width_px, height_px)
    size = FrameSize(*(max(2, side + side % 2) for side in (whole.width_px, whole.height_px)))
    if (size.width_px, size.height_px) == (width_px, height_px):
        return size, ()
    message = (
        f"size {width_px:g}x{height_px:g} of the composition was rounded up to"
        f" {size.width_px}x{size.height_px}: H.264 needs even sides"
    )
    return size, (message,)


def _whole_size(width_px: float, height_px: float) -> FrameSize:
    if max(width_px, height_px) > MAX_SIDE_PX:
        raise InvalidInput(
            f"the page is {width_px:g}x{height_px:g}; at most {MAX_SIDE_PX} pixels a side"
        )
    return FrameSize(max(1, ceil(width_px)), max(1, ceil(height_px)))
