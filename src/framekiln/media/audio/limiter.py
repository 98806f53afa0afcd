"""Keeps a mix at or below a ceiling; audio that never exceeds it passes unchanged, bit for bit.

It looks ahead and back: the gain falls before a peak and recovers after it in a smooth curve, so
nothing is clipped and no step is audible. It works on blocks, in constant memory.

True-peak metering finds levels between samples (inter-sample peaks): three points between every two
samples are computed with a windowed sinc (ITU-R BS.1770, annex 2).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Levels = NDArray[np.float32]

_NEIGHBOURS: Final = 12
_POINTS: Final = 4


@dataclass(frozen=True)
class PeakMeter:
    """Measures the peak level at each sample."""

    levels_of: Callable[[Samples], Levels]
    overshoot: float
    """No level exceeds the highest sample by more than this factor."""


def _between(share: float) -> NDArray[np.float32]:
    """Return the weights of the samples around a point that is `share` after the middle one."""
    distance = np.arange(-_NEIGHBOURS + 1, _NEIGHBOURS + 1) - share
    weights = np.sinc(distance) * np.cos(np.pi * distance / (2 * _NEIGHBOURS)) ** 2
    # Reversed, as convolution requires.
    turned: NDArray[np.float32] = (weights / weights.sum())[::-1].astype(np.float32)
    return turned


_WEIGHTS: Final = tuple(_between(n / _POINTS) for n in range(1, _POINTS))


def sample_levels(samples: Samples) -> Levels:
    """Return the level of each sample: the highest of its channels."""
    levels: Levels = np.abs(samples).max(axis=0, initial=0)
    return levels


def true_peak_levels(samples: Samples) -> Levels:
    """Return the highest level at or next to each sample, including points between samples."""
    levels = sample_levels(samples)
    if samples.shape[1] < 2:
        return levels
    for channel in samples:
        padded = np.pad(channel, (_NEIGHBOURS - 1, _NEIGHBOURS))
        for weights in _WEIGHTS:
            after = np.abs(np.convolve(padded, weights, "valid"))
            np.maximum(levels, after, out=levels)
            np.maximum(levels[1:], after[:-1], out=levels[1:])
    return levels


SAMPLE_PEAK: Final = PeakMeter(sample_levels, 1.0)
TRUE_PEAK: Final = PeakMeter(true_peak_levels, max(float(np.abs(each).sum()) for each in _WEIGHTS))


Gains = NDArray[np.float64]

# 21 ms at 48 kHz: longer than a period of the lowest tones, which would otherwise be distorted.
_REACH: Final = 1024
# Context on each side that levels between samples need.
_SIDE: Final = 32


class Limiter:
    """Takes blocks of channels x samples and returns them later, in order and complete."""

    def __init__(self, ceiling: float = 1.0, meter: PeakMeter = SAMPLE_PEAK) -> None:
        self._ceiling = ceiling
        self._meter = meter
        # Gains depend on peaks up to twice the reach away: once to find them, once to smooth them.
        self._margin = 2 * _REACH + _SIDE
        self._before: Samples | None = None
        self._waiting: Samples | None = None
        self.peak = 0.0
        """The highest level that came in so far; above the ceiling it was reduced.

        What stays far below the ceiling counts by its samples alone.
        """

    def push(self, block: Samples) -> Iterator[Samples]:
        """Add a block of at least `_margin` samples; yield the samples that are final."""
        if self._waiting is not None:
            yield self._limit(self._waiting, block[:, : self._margin])
        self._waiting = block

    def finish(self) -> Iterator[Samples]:
        """Yield the remaining samples."""
        if self._waiting is not None:
            yield self._limit(self._waiting, self._waiting[:, :0])
            self._waiting = None

    def _limit(self, block: Samples, after: Samples) -> Samples:
        before = block[:, :0] if self._before is None else self._before
        self._before = block[:, -self._margin :]
        around = np.concatenate([before, block, after], axis=1)
        highest = float(np.abs(around).max(initial=0))
        self.peak = max(self.peak, highest)
        if highest * self._meter.overshoot <= self._ceiling:
            return block
        levels = self._meter.levels_of(around)
        peak = float(levels.max(initial=0))
        self.peak = max(self.peak, peak)
        if peak <= self._ceiling:
            return block
        gains = smooth_gains(levels / np.float32(self._ceiling))
        gains = gains[before.shape[1] : before.shape[1] + block.shape[1]]
        # Rounding may leave a sample slightly above the ceiling.
        top = np.float32(self._ceiling)
        limited: Samples = np.clip(block * gains, -top, top).astype(np.float32)
        return limited


def smooth_gains(levels: NDArray[np.float32]) -> Gains:
    """Return a gain for each sample that brings every level to at most 1.

    It takes the smallest gain needed within reach on either side, then averages twice over half of
    that. None of the averaged values exceeds the gain needed here, so the average does not either.
    """
    needed = 1 / np.maximum(levels.astype(np.float64), 1)
    lowest = _lowest_around(needed, _REACH)
    return _mean_around(_mean_around(lowest, _REACH // 2), _REACH // 2)


def _lowest_around(values: Gains, reach: int) -> Gains:
    """Return the minimum over `reach` samples to each side, by doubling windows."""
    window = 2 * reach + 1
    lowest = np.pad(values, reach, constant_values=1)
    width = 1
    while width < window:
        step = min(width, window - width)
        lowest = np.minimum(lowest[:-step], lowest[step:])
        width += step
    return lowest


def _mean_around(values: Gains, reach: int) -> Gains:
    window = 2 * reach + 1
    sums = np.cumsum(np.pad(values, (reach + 1, reach), mode="edge"))
    means: Gains = (sums[window:] - sums[:-window]) / window
    return means
