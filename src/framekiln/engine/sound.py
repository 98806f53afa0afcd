"""The sound of a film: every audible stretch of the plan, placed exactly and mixed once."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.engine.assets import Assets
from framekiln.engine.heard import HeardPiece, MediaWindow, PageSound
from framekiln.media.hearing.pcm import write_wav
from framekiln.media.hearing.sound import sample_at
from framekiln.media.mixing.choices import AS_IT_IS, Mastering, SoundCoding
from framekiln.media.mixing.mix import SoundClip, mix, mixed_blocks
from framekiln.media.source_probe import probe_source
from framekiln.timeline import Timeline

# Scripts write 1.1, which is no binary number.
_SPEED_STEPS: Final = 1_000_000


def mix_sounds(  # noqa: PLR0913 - what is mixed, and how
    heard: Iterable[MediaWindow | HeardPiece],
    timeline: Timeline,
    assets: Assets,
    path: Path,
    *,
    page_sounds: Iterable[PageSound] = (),
    mastering: Mastering = AS_IT_IS,
    coding: SoundCoding = SoundCoding.AAC,
) -> None:
    """Mix all that is heard into one track of the film's length; silence where there is none.

    `page_sounds` is what the page itself has mixed, if it does that.
    """
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    clips = [SoundClip(sound.path, sound.start_ms, film_ms) for sound in page_sounds]
    clips += clips_of(heard, assets)
    mix(clips, duration_ms=timeline.duration_ms, out=path, mastering=mastering, coding=coding)


def mix_to_wav(
    heard: Iterable[MediaWindow | HeardPiece], timeline: Timeline, assets: Assets, path: Path
) -> None:
    """Write the sum of all that is heard, for whoever draws it."""
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    blocks = mixed_blocks(list(clips_of(heard, assets)), sample_at(film_ms))
    write_wav((np.ascontiguousarray(block.T).tobytes() for block in blocks), path)


def clips_of(heard: Iterable[MediaWindow | HeardPiece], assets: Assets) -> Iterator[SoundClip]:
    """Yield what can be mixed; sources without sound are left out."""
    for each in heard:
        source = assets.fetch(each.source).path
        times = (Fraction(each.start_ms), Fraction(each.end_ms), Fraction(each.source_in_ms))
        if isinstance(each, HeardPiece):
            # Made from facts about the source: it has sound.
            yield SoundClip(source, *times, speed=each.speed, gains=each.gains)
        elif probe_source(source).has_sound:
            yield SoundClip(
                source,
                *times,
                gain=each.gain,
                speed=Fraction(each.speed).limit_denominator(_SPEED_STEPS),
                keeps_pitch=each.keeps_pitch,
                gains=tuple((Fraction(at_ms), factor) for at_ms, factor in each.gains),
            )
