"""Resamples audio to another speed, which also changes its pitch, as on tape.

Each sample is computed from the source samples around it with a windowed sinc. At higher speeds,
frequencies above the limit of the sample rate are filtered out.
"""

from collections.abc import Generator
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.media.audio.decoder import AudioChunk, ReadAudio, Samples, read_audio
from framekiln.media.audio.time_stretch import SampleWindow, read_without_gaps

_BLOCK: Final = 4096
# Zero crossings on each side; positions between two samples in the table, interpolated linearly.
_SIDE: Final = 16
_PHASES: Final = 256


def read_resampled(
    path: Path, first: int, end: int, *, speed: Fraction, read: ReadAudio = read_audio
) -> Generator[AudioChunk, None, None]:
    """Yield the audio from sample `first` of the source on, `end - first` samples long.

    Output sample `first + n` is sample `first + n * speed` of the source.
    """
    table = _weights(max(1.0, float(speed)))
    reach = table.shape[1] // 2
    lead = min(first, reach)
    source_end = first + round((end - first) * speed) + reach + 1
    source = SampleWindow(read_without_gaps(path, first - lead, source_end, read))
    for at in range(0, end - first, _BLOCK):
        count = min(_BLOCK, end - first - at)
        places = lead + np.arange(at, at + count) * float(speed)
        yield AudioChunk(first + at, _at(source, places, table, reach))
        source.discard_before(int(places[-1]) - reach)
        if source.is_over(int(places[-1]) - reach):
            return


def _at(
    source: SampleWindow, places: NDArray[np.float64], table: NDArray[np.float32], reach: int
) -> Samples:
    """Return the audio at positions between the samples of a source."""
    whole = np.floor(places).astype(np.int64)
    start = int(whole[0]) - reach + 1
    around = source.cut(start, int(whole[-1]) + reach + 1 - start)
    phase = (places - whole) * _PHASES
    lower = phase.astype(np.int64)
    share = (phase - lower).astype(np.float32)[:, None]
    weights = table[lower] * (1 - share) + table[lower + 1] * share
    taps = (whole - reach + 1 - start)[:, None] + np.arange(2 * reach)
    resampled: Samples = np.stack([(channel[taps] * weights).sum(axis=1) for channel in around])
    return resampled


def _weights(speed: float) -> NDArray[np.float32]:
    """Return the weights of the samples around each position between two samples."""
    reach = int(np.ceil(_SIDE * speed))
    shares = np.arange(_PHASES + 1)[:, None] / _PHASES
    distance = np.arange(-reach + 1, reach + 1) - shares
    window = np.cos(np.pi * np.clip(distance / reach, -1, 1) / 2) ** 2
    weights = np.sinc(distance / speed) * window
    scaled: NDArray[np.float32] = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return scaled
