"""Stock media for compositions: footage, music, a voice and photographs, all computed.

Footage has frame codes, flashes and beeps (see `clips`), so every frame shows its source frame
number.
"""

import wave
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.clips import Clip, make_clip, write_picture
from tests.support.local_assets import Maker

RATE_HZ = 48_000
MUSIC_LEVEL = 0.2
Wave = NDArray[np.float64]
# A minor, F, C, G: a second each.
CHORDS_HZ = (
    (220.0, 261.6, 329.6),
    (174.6, 220.0, 261.6),
    (261.6, 329.6, 392.0),
    (196.0, 246.9, 293.7),
)
SYLLABLES_HZ = 4
SPEECH_S = ((0.5, 2.0), (2.5, 4.0))
SUBTITLES = """WEBVTT

00:00.400 --> 00:01.500
Two lines of a film,
<i>as people write them</i>

2
00:01.800 --> 00:02.700 align:middle
and &amp; one more.
"""
PHOTO_PX = (320, 200)


def stock_makers() -> dict[str, Maker]:
    """Return the functions that write each file, by name."""
    seconds = partial(Clip, width=320, height=180, duration_s=Fraction(4))
    square = partial(Clip, width=240, height=240, fps=Fraction(25), duration_s=Fraction(4))
    tall = Clip(width=180, height=320, fps=Fraction(60), duration_s=Fraction(3))
    return {
        "footage.mp4": partial(make_clip, clip=seconds()),
        "late.mp4": partial(make_clip, clip=seconds(fps=Fraction(24), beep_delay_ms=500)),
        "head.mp4": partial(make_clip, clip=square(b_frames=2)),
        "silent.mp4": partial(make_clip, clip=seconds(audio_codec=None)),
        "tall.mp4": partial(make_clip, clip=tall),
        "film.mp4": partial(make_clip, clip=seconds(fps=Fraction(24000, 1001), b_frames=2)),
        "beep.m4a": partial(make_clip, clip=seconds(video_codec=None, duration_s=Fraction(1, 2))),
        "music.wav": partial(_write_sound, make=_music),
        "voice.wav": partial(_write_sound, make=_voice),
        "subtitles.vtt": partial(Path.write_text, data=SUBTITLES, encoding="utf-8"),
        "dawn.jpg": partial(write_photo, sky=(250, 150, 90), ground=(60, 30, 70)),
        "noon.jpg": partial(write_photo, sky=(120, 190, 250), ground=(40, 120, 60)),
        "dusk.jpg": partial(write_photo, sky=(90, 60, 150), ground=(15, 20, 50)),
    }


def _music() -> Wave:
    """Eight seconds of chords at constant loudness: the RMS is that of a sine at MUSIC_LEVEL."""
    time_s = np.arange(RATE_HZ) / RATE_HZ
    chords = [sum(np.sin(2 * np.pi * hz * time_s) for hz in chord) for chord in CHORDS_HZ * 2]
    return MUSIC_LEVEL / np.sqrt(3) * np.concatenate(chords)


def _voice() -> Wave:
    """Five seconds with two groups of syllables, and silence around them."""
    time_s = np.arange(5 * RATE_HZ) / RATE_HZ
    harmonics = sum(np.sin(2 * np.pi * 160 * k * time_s) / k for k in range(1, 70))
    syllables = np.sin(np.pi * SYLLABLES_HZ * time_s) ** 2
    spoken = np.zeros_like(time_s)
    for start_s, end_s in SPEECH_S:
        spoken[(time_s >= start_s) & (time_s < end_s)] = 0.3
    return harmonics * syllables * spoken


def _write_sound(path: Path, *, make: Callable[[], Wave]) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes((make() * 32767).round().astype("<i2").tobytes())


def write_photo(
    path: Path, *, sky: tuple[int, int, int], ground: tuple[int, int, int], scale: int = 1
) -> None:
    """Write hills under a sky that is brighter towards the horizon, with a sun in it."""
    width, height = PHOTO_PX
    y, x = np.mgrid[0 : height * scale, 0 : width * scale] / scale
    light = 0.6 + 0.4 * y / height
    picture = light[..., None] * np.array(sky)
    picture[(x - 230) ** 2 + (y - 60) ** 2 < 28**2] = (255, 245, 200)
    for level, shade in ((120, 1.6), (145, 1.25), (170, 1.0)):
        hill = y > level + 14 * np.sin(x / (0.25 * level)) - x / 25
        picture[hill] = np.minimum(255, np.array(ground) * shade)
    write_picture(path, picture.astype(np.uint8))
