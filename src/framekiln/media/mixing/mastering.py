"""The last hand on a mix: brought to a loudness if that is wanted, and kept below a ceiling.

Loudness is measured over the whole film before anything is written. Where the ceiling takes some
of it away again, that is made up for, as far as it goes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from framekiln.media.hearing.sound import Samples
from framekiln.media.mixing.limiter import Limiter
from framekiln.media.mixing.loudness import loudness_lufs
from framekiln.media.mixing.true_peak import TRUE_PEAK

Mixed = Callable[[], Iterator[Samples]]
"""Begins the mix anew and yields it block by block."""

CEILING: Final = 10 ** (-1 / 20)
"""One decibel below full scale: room for what an encoder adds."""
# Silence with a hiss is no speech that somebody forgot to turn up.
_MOST_GAIN: Final = 10 ** (30 / 20)
_CLOSE_LU: Final = 0.1
_ROUNDS: Final = 3


@dataclass(frozen=True)
class Mastering:
    """What becomes of a sum of sounds; `target_lufs` None leaves it as loud as it is."""

    target_lufs: float | None = None
    has_limiter: bool = True
    """Without it, what is over full scale is cut off."""
    is_true_peak: bool = False
    """Whether the limiter also counts what lies between samples, and ends 1 dB below full scale."""

    def limiter(self) -> Limiter | None:
        """Return a new limiter, if there is to be one."""
        if not self.has_limiter:
            return None
        return Limiter(CEILING, TRUE_PEAK) if self.is_true_peak else Limiter()


AS_IT_IS: Final = Mastering()
"""Of pages: only what is over full scale is changed."""


def gain_for(mixed: Mixed, mastering: Mastering) -> float:
    """Return the factor that brings a mix to its loudness; 1 for silence."""
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
        gain = min(_MOST_GAIN, gain * 10 ** (missing_lu / 20))
    return float(gain)


def finished(blocks: Iterator[Samples], limiter: Limiter | None, gain: float) -> Iterator[Samples]:
    """Yield the mix as it is written."""
    for block in blocks:
        louder = block if gain == 1 else (block * np.float32(gain))
        if limiter is None:
            yield np.clip(louder, -1, 1)
        else:
            yield from limiter.push(louder)
    if limiter is not None:
        yield from limiter.finish()


def _finished(blocks: Iterator[Samples], mastering: Mastering, gain: float) -> Iterator[Samples]:
    return finished(blocks, mastering.limiter(), gain)
