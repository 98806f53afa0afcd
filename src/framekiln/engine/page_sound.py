"""What a page itself makes heard: the sound of its scripts, or of the runtime that it brings."""

from fractions import Fraction
from pathlib import Path
from typing import Final

from framekiln.capture.bridged_page import BridgedPage
from framekiln.capture.page import Page
from framekiln.engine.heard import PageSound
from framekiln.media.hearing.pcm import write_wav
from framekiln.timeline import Timeline

# Sound is rendered in blocks of a few milliseconds; the last one reaches over the end of the film.
_LAST_BLOCK_US: Final = 20_000


def save_sounds(page: Page, folder: Path, timeline: Timeline) -> tuple[PageSound, ...]:
    """Write it into files of that folder, once the last frame was shown; none is silence."""
    if isinstance(page, BridgedPage):
        path = folder / "page.wav"
        return (PageSound(path),) if write_wav(page.sound(), path) else ()
    end_us = timeline.frame_us(timeline.frame_count) + _LAST_BLOCK_US
    saved = []
    for number, sound in enumerate(page.finish_sound(end_us)):
        path = folder / f"page-{number}.wav"
        write_wav(sound.samples(), path, rate_hz=sound.rate_hz)
        saved.append(PageSound(path, Fraction(sound.first * 1000, sound.rate_hz)))
    return tuple(saved)
