"""Plays audio at another speed: with the same pitch, or with the pitch of tape.

Time stretching keeps the pitch: short grains of the source are overlapped at a different distance.
Each may be taken from slightly earlier or later, where it continues the previous one best. Grains
are short, so audio is never more than a few milliseconds away from its time. The first and the last
sample are at their exact times.

Resampling changes the pitch: each sample is computed from the source samples around it with a
windowed sinc. At higher speeds, frequencies above the limit of the sample rate are filtered out.
"""

from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from framekiln.media.audio.decoder import CHANNELS, AudioChunk, ReadAudio, Samples, read_audio

# At 48 kHz: grains of 30 ms that overlap by half, moved by up to 6 ms.
_HOP: Final = 720
_SEARCH: Final = 288


def _rise(count: int) -> NDArray[np.float32]:
    return (np.sin(np.pi * (np.arange(count) + 0.5) / (2 * count)) ** 2).astype(np.float32)


_RISE: Final = _rise(_HOP)


Course = Sequence[tuple[int, int]]
"""Output samples and the source samples that belong to them, both counted from the start: the start
itself, each change of the speed, and the end.
"""


def read_time_stretched(
    path: Path, first: int, course: Course, *, read: ReadAudio = read_audio
) -> Generator[AudioChunk, None, None]:
    """Yield the audio from sample `first` of the source on, as a course says.

    Its first and last sample are exact: nothing is missing there, and what continues elsewhere does
    so without a click.
    """
    _, length = course[-1]
    source = SampleWindow(read_without_gaps(path, first, first + length, read))
    at = first
    for samples in _grains(source, course):
        yield AudioChunk(at, samples)
        at += samples.shape[1]


def _grains(source: "SampleWindow", course: Course) -> Iterator[Samples]:
    """Yield the stretched audio hop by hop; it ends early where the source does."""
    count, length = course[-1]
    start = -_HOP
    hops = max(0, round(Fraction(count, _HOP)) - 1)
    # Grains from outside would play what was cut off, or silence.
    last = max(0, length - 2 * _HOP)
    for number in range(hops):
        tail = source.cut(start + _HOP, _HOP)
        # The middle of a grain is at its exact time; its start and end are slightly off.
        wanted = min(max(0, _source_at(course, (number + 1) * _HOP) - _HOP), last)
        start = wanted + _best_shift(source, wanted, tail, last)
        yield tail * _RISE[::-1] + source.cut(start, _HOP) * _RISE
        source.discard_before(wanted - 2 * _SEARCH)
        if source.is_over(start):
            return
    rest = count - hops * _HOP
    rise = _rise(rest)
    yield source.cut(start + _HOP, rest) * rise[::-1] + source.cut(length - rest, rest) * rise


def _source_at(course: Course, at: int) -> int:
    """Return the source sample of an output sample before the end."""
    after = bisect_right(course, at, key=lambda place: place[0])
    (start, source_start), (end, source_end) = course[after - 1], course[after]
    share = Fraction(at - start, end - start)
    return source_start + round(share * (source_end - source_start))


def _best_shift(source: "SampleWindow", wanted: int, tail: Samples, last: int) -> int:
    """Return the offset at which a grain from 0 to `last` best continues the previous one."""
    low, high = -min(_SEARCH, wanted), min(_SEARCH, last - wanted)
    around = source.cut(wanted + low, _HOP + high - low).sum(axis=0, dtype=np.float64)
    likeness = np.correlate(around, tail.sum(axis=0, dtype=np.float64), mode="valid")
    energy = np.concatenate([[0.0], np.cumsum(around * around)])
    loudness = np.sqrt(np.maximum(energy[_HOP:] - energy[:-_HOP], 0))
    score: npt.NDArray[np.float64] = likeness / (loudness + 1e-6)
    if score.max() <= 0:
        return 0
    # Among equally good positions, take the nearest.
    distance = np.abs(np.arange(low, high + 1))
    best = np.flatnonzero(score >= score.max() * (1 - 1e-3))
    return int(best[distance[best].argmin()]) + low


class SampleWindow:
    """A moving window over a source, silent before its start and after its end."""

    def __init__(self, blocks: Iterator[Samples]) -> None:
        self._blocks = blocks
        self._kept: Samples = np.zeros((CHANNELS, 0), np.float32)
        self._first = 0
        self._has_ended = False

    def cut(self, start: int, count: int) -> Samples:
        """Return `count` samples from number `start` on."""
        self._read_until(start + count)
        cut = np.zeros((CHANNELS, count), np.float32)
        left, right = max(start, self._first), min(start + count, self._end)
        if left < right:
            part = self._kept[:, left - self._first : right - self._first]
            cut[:, left - start : right - start] = part
        return cut

    def discard_before(self, before: int) -> None:
        """Discard samples that are no longer needed."""
        gone = max(0, before - self._first)
        if gone > 1 << 16:
            self._kept = self._kept[:, gone:].copy()
            self._first += gone

    def is_over(self, at: int) -> bool:
        """Return whether the source has no samples from there on."""
        return self._has_ended and at >= self._end

    @property
    def _end(self) -> int:
        return self._first + int(self._kept.shape[1])

    def _read_until(self, end: int) -> None:
        parts = [self._kept]
        length = self._end
        while length < end and not self._has_ended:
            block = next(self._blocks, None)
            self._has_ended = block is None
            if block is not None:
                parts.append(block)
                length += block.shape[1]
        if len(parts) > 1:
            self._kept = np.concatenate(parts, axis=1)


def read_without_gaps(
    path: Path, first: int, end: int, read: ReadAudio = read_audio
) -> Iterator[Samples]:
    """Yield the audio with gaps filled by silence, because grains have no timestamps."""
    at = first
    for chunk in read(path, first, end):
        if chunk.first > at:
            yield np.zeros((CHANNELS, chunk.first - at), np.float32)
        yield chunk.samples
        at = chunk.end


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
