"""True-peak metering: levels between samples (inter-sample peaks).

Three points between every two samples are computed with a windowed sinc (ITU-R BS.1770, annex 2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Levels = NDArray[np.float32]

_SIDE: Final = 12
_POINTS: Final = 4


@dataclass(frozen=True)
class PeakMeter:
    """Measures the peak level at each sample."""

    levels_of: Callable[[Samples], Levels]
    overshoot: float
    """No level exceeds the highest sample by more than this factor."""


def _between(share: float) -> NDArray[np.float32]:
    """Return the weights of the samples around a point that is `share` after the middle one."""
    distance = np.arange(-_SIDE + 1, _SIDE + 1) - share
    weights = np.sinc(distance) * np.cos(np.pi * distance / (2 * _SIDE)) ** 2
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
        padded = np.pad(channel, (_SIDE - 1, _SIDE))
        for weights in _WEIGHTS:
            after = np.abs(np.convolve(padded, weights, "valid"))
            np.maximum(levels, after, out=levels)
            np.maximum(levels[1:], after[:-1], out=levels[1:])
    return levels


SAMPLE_PEAK: Final = PeakMeter(sample_levels, 1.0)
TRUE_PEAK: Final = PeakMeter(true_peak_levels, max(float(np.abs(each).sum()) for each in _WEIGHTS))
