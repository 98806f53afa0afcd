"""Masters a mix: optional loudness normalization, then peak limiting.

Loudness is measured over the whole film before anything is written. Loudness lost to the limiter is
compensated as far as possible.

Loudness is the integrated loudness of ITU-R BS.1770 (EBU R 128), in LUFS. Audio is weighted by
frequency to match human hearing. Power is measured over 400 ms every 100 ms; windows that are
silent or much quieter than the rest are left out of the mean. It works on blocks, at 48 kHz.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.media.audio.decoder import CHANNELS, RATE_HZ, Samples
from framekiln.media.audio.limiter import Limiter
from framekiln.media.audio.mix_settings import CEILING, Mastering

Values = NDArray[np.float64]

_HOP: Final = RATE_HZ // 10
_HOPS_IN_WINDOW: Final = 4
_SILENCE_LUFS: Final = -70.0
_QUIETER_BY_LU: Final = 10.0
_OFFSET_DB: Final = -0.691
# The two filters of the recommendation, for 48 kHz: the effect of the head, and a high-pass.
_HEAD: Final = (
    (1.53512485958697, -2.69169618940638, 1.19839281085285),
    (-1.69065929318241, 0.73248077421585),
)
_LOW_CUT: Final = ((1.0, -2.0, 1.0), (-1.99004745483398, 0.99007225036621))
# At this length the impulse response has fallen by 350 dB: as exact as the recursive filter.
_TAPS: Final = 8192
_CHUNK: Final = (1 << 16) - _TAPS


def loudness_lufs(blocks: Iterable[Samples]) -> float | None:
    """Return the integrated loudness; None if the audio is silent or empty."""
    meter = LoudnessMeter()
    for block in blocks:
        meter.push(block)
    return meter.integrated_lufs()


class LoudnessMeter:
    """Measures the loudness of blocks of channels x samples."""

    def __init__(self) -> None:
        self._before: Samples = np.zeros((CHANNELS, _TAPS), np.float32)
        self._rest: Values = np.zeros(0)
        self._powers: list[float] = []

    def push(self, block: Samples) -> None:
        """Add a block of any length."""
        for start in range(0, block.shape[1], _CHUNK):
            part = block[:, start : start + _CHUNK]
            whole = np.concatenate([self._before, part], axis=1)
            self._before = whole[:, -_TAPS:]
            self._add_powers(_weighted(whole))

    def integrated_lufs(self) -> float | None:
        """Return the loudness of all blocks; less than 400 ms counts as one window."""
        hops = np.array(self._powers)
        if len(hops) < _HOPS_IN_WINDOW:
            rest = float(self._rest.sum()) + float(hops.sum()) * _HOP
            count = len(hops) * _HOP + len(self._rest)
            return _gated(np.array([rest / count])) if count else None
        sums = np.concatenate([[0.0], np.cumsum(hops)])
        return _gated((sums[_HOPS_IN_WINDOW:] - sums[:-_HOPS_IN_WINDOW]) / _HOPS_IN_WINDOW)

    def _add_powers(self, powers: Values) -> None:
        powers = np.concatenate([self._rest, powers])
        whole = len(powers) - len(powers) % _HOP
        self._powers += powers[:whole].reshape(-1, _HOP).mean(axis=1).tolist()
        self._rest = powers[whole:]


def _gated(windows: Values) -> float | None:
    audible = windows[windows > _power(_SILENCE_LUFS)]
    if not len(audible):
        return None
    loud = audible[audible > _power(_lufs(float(audible.mean())) - _QUIETER_BY_LU)]
    return _lufs(float(loud.mean()))


def _lufs(power: float) -> float:
    return float(_OFFSET_DB + 10 * np.log10(power))


def _power(lufs: float) -> float:
    return float(10 ** ((lufs - _OFFSET_DB) / 10))


def _weighted(samples: Samples) -> Values:
    """Return the power of the weighted audio for each sample after the first `_TAPS`."""
    size = 1 << 16
    spectrum = np.fft.rfft(samples.astype(np.float64), size, axis=1) * _response()
    filtered = np.fft.irfft(spectrum, size, axis=1)[:, _TAPS : samples.shape[1]]
    powers: Values = (filtered * filtered).sum(axis=0)
    return powers


@cache
def _response() -> NDArray[np.complex128]:
    impulse = np.zeros(_TAPS)
    impulse[0] = 1
    for (b0, b1, b2), (a1, a2) in (_HEAD, _LOW_CUT):
        answer = np.zeros(_TAPS)
        x1 = x2 = y1 = y2 = 0.0
        for n, x in enumerate(impulse.tolist()):
            y = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2
            answer[n] = y
            x1, x2, y1, y2 = x, x1, y, y1
        impulse = answer
    return np.fft.rfft(impulse, 1 << 16)


__all__ = ["CEILING", "Mastering", "MixedBlocks", "gain_for", "master_blocks"]

MixedBlocks = Callable[[], Iterator[Samples]]
"""Starts the mix from the beginning and yields it block by block."""

# Limits the gain, so that near-silence with noise is not amplified like quiet speech.
_MAX_GAIN: Final = 10 ** (30 / 20)
_CLOSE_LU: Final = 0.1
_ROUNDS: Final = 3


def gain_for(mixed: MixedBlocks, mastering: Mastering) -> float:
    """Return the factor that brings a mix to its target loudness; 1 for silence."""
    if mastering.target_lufs is None:
        return 1.0
    gain = 1.0
    for _ in range(_ROUNDS):
        heard_lufs = loudness_lufs(_finished(mixed(), mastering, gain))
        if heard_lufs is None:
            return 1.0
        missing_lu = mastering.target_lufs - heard_lufs
        if abs(missing_lu) < _CLOSE_LU:
            break
        gain = min(_MAX_GAIN, gain * 10 ** (missing_lu / 20))
    return float(gain)


def master_blocks(
    blocks: Iterator[Samples], limiter: Limiter | None, gain: float
) -> Iterator[Samples]:
    """Yield the mastered mix."""
    for block in blocks:
        louder = block if gain == 1 else (block * np.float32(gain))
        if limiter is None:
            yield np.clip(louder, -1, 1)
        else:
            yield from limiter.push(louder)
    if limiter is not None:
        yield from limiter.finish()


def _finished(blocks: Iterator[Samples], mastering: Mastering, gain: float) -> Iterator[Samples]:
    return master_blocks(blocks, mastering.limiter(), gain)
