"""Keeps a mix at or below a ceiling; audio that never exceeds it passes unchanged, bit for bit.

It looks ahead and back: the gain falls before a peak and recovers after it in a smooth curve, so
nothing is clipped and no step is audible. It works on blocks, in constant memory.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.media.audio.true_peak import SAMPLE_PEAK, PeakMeter

Samples = NDArray[np.float32]
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
