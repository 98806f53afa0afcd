"""The sound of a film: every audible stretch of the plan, placed exactly and mixed once."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.engine.assets import Assets
from framekiln.engine.audio_clips import LayerAudioClip, PageAudio, PageAudioClip
from framekiln.media.audio.decoder import sample_at
from framekiln.media.audio.mix import AudioClip, mix, mixed_blocks
from framekiln.media.audio.mix_settings import NO_MASTERING, AudioCoding, Mastering
from framekiln.media.audio.wav import write_wav
from framekiln.media.probe.source import probe_source
from framekiln.timeline import Timeline

# Scripts write 1.1, which is no binary number.
_SPEED_STEPS: Final = 1_000_000


def mix_audio(  # noqa: PLR0913 - what is mixed, and how
    heard: Iterable[PageAudioClip | LayerAudioClip],
    timeline: Timeline,
    assets: Assets,
    path: Path,
    *,
    page_sounds: Iterable[PageAudio] = (),
    mastering: Mastering = NO_MASTERING,
    coding: AudioCoding = AudioCoding.AAC,
) -> None:
    """Mix all that is heard into one track of the film's length; silence where there is none.

    `page_sounds` is what the page itself has mixed, if it does that.
    """
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    clips = [AudioClip(sound.path, sound.start_ms, film_ms) for sound in page_sounds]
    clips += fetch_clips(heard, assets)
    mix(clips, duration_ms=timeline.duration_ms, out=path, mastering=mastering, coding=coding)


def mix_audio_to_wav(
    heard: Iterable[PageAudioClip | LayerAudioClip], timeline: Timeline, assets: Assets, path: Path
) -> None:
    """Write the sum of all that is heard, for whoever draws it."""
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    blocks = mixed_blocks(list(fetch_clips(heard, assets)), sample_at(film_ms))
    write_wav((np.ascontiguousarray(block.T).tobytes() for block in blocks), path)


def fetch_clips(
    heard: Iterable[PageAudioClip | LayerAudioClip], assets: Assets
) -> Iterator[AudioClip]:
    """Yield what can be mixed; sources without sound are left out."""
    for each in heard:
        source = assets.fetch(each.source).path
        times = (Fraction(each.start_ms), Fraction(each.end_ms), Fraction(each.source_in_ms))
        if isinstance(each, LayerAudioClip):
            # Made from facts about the source: it has sound.
            yield AudioClip(source, *times, speed=each.speed, gains=each.gains)
        elif probe_source(source).has_sound:
            yield AudioClip(
                source,
                *times,
                gain=each.gain,
                speed=Fraction(each.speed).limit_denominator(_SPEED_STEPS),
                keeps_pitch=each.keeps_pitch,
                gains=tuple((Fraction(at_ms), factor) for at_ms, factor in each.gains),
            )
