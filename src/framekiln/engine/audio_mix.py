"""Mixes the audio clips of a film into one track; a confined child decodes their sources."""

from collections.abc import Generator, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.engine.assets import Assets
from framekiln.engine.audio_clips import LayerAudioClip, PageAudio, PageAudioClip
from framekiln.media.audio.decoder import AudioChunk, ReadAudio, read_audio, sample_at
from framekiln.media.audio.mix import AudioClip, mix, mixed_blocks
from framekiln.media.audio.mix_settings import (
    NO_MASTERING,
    STANDARD_AUDIO,
    AudioSettings,
    Mastering,
)
from framekiln.media.audio.wav import write_wav
from framekiln.media.session_audio import SessionAudio
from framekiln.media.source_session import SourceSession
from framekiln.timeline import Timeline

# Scripts set speeds such as 1.1, which have no exact binary form.
_SPEED_STEPS: Final = 1_000_000


def mix_audio(  # noqa: PLR0913 - what is mixed, and how
    clips: Iterable[PageAudioClip | LayerAudioClip],
    timeline: Timeline,
    assets: Assets,
    path: Path,
    *,
    page_sounds: Iterable[PageAudio] = (),
    mastering: Mastering = NO_MASTERING,
    settings: AudioSettings = STANDARD_AUDIO,
) -> None:
    """Mix the clips into one track as long as the film, with silence where there are none.

    `page_sounds` is the sound that the page itself produced, if any.
    """
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    own = [AudioClip(sound.path, sound.start_ms, film_ms) for sound in page_sounds]
    with SourceSession() as session:
        fetched = list(fetch_clips(clips, assets, session))
        mix(
            [*own, *fetched],
            duration_ms=timeline.duration_ms,
            out=path,
            mastering=mastering,
            settings=settings,
            read=_reader(session, own),
        )


def mix_audio_to_wav(
    clips: Iterable[PageAudioClip | LayerAudioClip],
    timeline: Timeline,
    assets: Assets,
    path: Path,
    *,
    session: SourceSession,
) -> None:
    """Write the sum of the clips as WAV, for layers that draw it."""
    film_ms = Fraction(timeline.frame_count * 1000) / timeline.fps
    fetched = list(fetch_clips(clips, assets, session))
    blocks = mixed_blocks(fetched, sample_at(film_ms), SessionAudio(session).read)
    write_wav((np.ascontiguousarray(block.T).tobytes() for block in blocks), path)


def _reader(session: SourceSession, own: Iterable[AudioClip]) -> ReadAudio:
    """Return what reads strangers' files in the child, and those that we wrote here."""
    paths = {clip.path for clip in own}
    confined = SessionAudio(session).read

    def read(path: Path, start: int, end: int) -> Generator[AudioChunk, None, None]:
        return (read_audio if path in paths else confined)(path, start, end)

    return read


def fetch_clips(
    clips: Iterable[PageAudioClip | LayerAudioClip], assets: Assets, session: SourceSession
) -> Iterator[AudioClip]:
    """Fetch the clips' sources; clips whose source has no sound are left out."""
    for each in clips:
        source = assets.fetch(each.source).path
        times = (Fraction(each.start_ms), Fraction(each.end_ms), Fraction(each.source_in_ms))
        if isinstance(each, LayerAudioClip):
            # Clips of layers are made only for sources with sound.
            yield AudioClip(source, *times, speed=each.speed, gains=each.gains)
        elif session.probe(source).has_sound:
            yield AudioClip(
                source,
                *times,
                gain=each.gain,
                speed=Fraction(each.speed).limit_denominator(_SPEED_STEPS),
                keeps_pitch=each.keeps_pitch,
                gains=tuple((Fraction(at_ms), factor) for at_ms, factor in each.gains),
            )
