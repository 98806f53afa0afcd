"""Waveforms: the lowest and highest sample of each short span.

At most a hundred spans per second and twenty thousand in total, for audio of any duration. Gaps and
late starts are silent, so that the waveform matches the video.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from framekiln.media.audio.decoder import CHANNELS, RATE_HZ, AudioChunk, read_audio

PEAKS_PER_SECOND: Final = 100
MAX_PEAKS: Final = 20_000
_SAMPLES: Final = RATE_HZ // PEAKS_PER_SECOND
_LOUDEST: Final = 127
# A waveform of more than a day of audio is of no use.
_MAX_DURATION_S: Final = 24 * 3600

Peaks = NDArray[np.float32]


@dataclass(frozen=True)
class WaveformPeaks:
    """Peaks from -127 to 127: the lowest and highest of each span, interleaved."""

    samples_per_peak: int
    peaks: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the peaks in the common format of `audiowaveform`, which players read."""
        return {
            "version": 2,
            "channels": 1,
            "sample_rate": RATE_HZ,
            "samples_per_pixel": self.samples_per_peak,
            "bits": 8,
            "length": len(self.peaks) // 2,
            "data": list(self.peaks),
        }


def read_waveform(source: Path) -> WaveformPeaks:
    """Decode the audio of a file once and return its peaks."""
    outline = _Outline()
    for chunk in read_audio(source, 0, _MAX_DURATION_S * RATE_HZ):
        outline.add(chunk)
    return outline.finish()


class _Outline:
    """Peaks so far. When there are too many, pairs are merged and the span doubles.

    The duration therefore need not be known, and a wrong header has no effect.
    """

    def __init__(self) -> None:
        self._samples_per_peak = _SAMPLES
        self._peaks: Peaks = np.zeros((MAX_PEAKS, 2), np.float32)
        self._count = 0
        self._begun: Peaks = np.zeros(0, np.float32)
        self._position = 0

    def add(self, chunk: AudioChunk) -> None:
        """Add the next chunk of audio; a gap before it counts as silence."""
        self._silence_until(chunk.first)
        self._feed(chunk.samples.sum(axis=0) / np.float32(CHANNELS))

    def finish(self) -> WaveformPeaks:
        """Return the peaks of all chunks."""
        if len(self._begun):
            self._feed(np.zeros(self._samples_per_peak - len(self._begun), np.float32))
        scaled = np.nan_to_num(self._peaks[: self._count]).clip(-1, 1) * _LOUDEST
        values = np.rint(scaled).astype(int).ravel().tolist()
        return WaveformPeaks(self._samples_per_peak, tuple(values))

    def _silence_until(self, first: int) -> None:
        while self._position < first:
            self._feed(np.zeros(min(first - self._position, RATE_HZ), np.float32))

    def _feed(self, samples: Peaks) -> None:
        self._position += len(samples)
        self._begun = np.concatenate([self._begun, samples])
        while len(self._begun) >= self._samples_per_peak:
            if self._count == MAX_PEAKS:
                self._halve()
                continue
            self._take_whole_peaks()

    def _take_whole_peaks(self) -> None:
        size = self._samples_per_peak
        count = min(len(self._begun) // size, MAX_PEAKS - self._count)
        rows = self._begun[: count * size].reshape(count, size)
        new = self._peaks[self._count : self._count + count]
        new[:, 0], new[:, 1] = rows.min(axis=1), rows.max(axis=1)
        self._begun = self._begun[count * size :]
        self._count += count

    def _halve(self) -> None:
        pairs = self._peaks.reshape(-1, 2, 2)
        half = len(pairs)
        lowest, highest = pairs[:, :, 0].min(axis=1), pairs[:, :, 1].max(axis=1)
        self._peaks[:half, 0], self._peaks[:half, 1] = lowest, highest
        self._count = half
        self._samples_per_peak *= 2
