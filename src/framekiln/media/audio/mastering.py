"""Masters a mix: optional loudness normalization, then peak limiting.

Loudness is measured over the whole film before anything is written. Loudness lost to the limiter is
compensated as far as possible.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from framekiln.media.audio.decoder import Samples
from framekiln.media.audio.limiter import Limiter
from framekiln.media.audio.loudness import loudness_lufs
from framekiln.media.audio.mix_settings import CEILING, Mastering

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
