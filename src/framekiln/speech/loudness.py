"""Where it is clearly louder than usual: stands in for the voice detector when that is missing.

Knows nothing of voices. A steady noise, hum or silence is nobody; music and slamming doors are.
"""

from typing import Final

import numpy as np

from framekiln.speech.model import Samples
from framekiln.speech.voice import FRAME_SAMPLES, Probabilities

_QUIET_SHARE: Final = 10
# In a noisy room speech is hardly louder than the rest. What is let through in vain costs time
# and is refused later; what is kept back is lost.
_ABOVE_DB: Final = 3.0
_SURELY_ABOVE_DB: Final = 6.0
_SILENCE_DB: Final = -55.0


class LoudnessGate:
    """Takes what is loud for a voice."""

    def listen(self, samples: Samples) -> Probabilities:
        """Return, for each 32 ms, 0 where it is quiet, 1 where it is loud, and what is between."""
        count = -(-len(samples) // FRAME_SAMPLES)
        if not count:
            return np.zeros(0, np.float32)
        padded = np.zeros(count * FRAME_SAMPLES, np.float32)
        padded[: len(samples)] = samples
        powers = np.square(padded, dtype=np.float64).reshape(count, -1).mean(axis=1)
        loudness_db = 10 * np.log10(powers + 1e-10)
        floor_db = max(float(np.percentile(loudness_db, _QUIET_SHARE)), _SILENCE_DB)
        above_db = loudness_db - floor_db
        share = (above_db - _ABOVE_DB) / (_SURELY_ABOVE_DB - _ABOVE_DB)
        return np.asarray(np.clip(share, 0, 1), np.float32)
