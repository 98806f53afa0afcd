"""Detects hallucinated text: repetition loops, and words where there is no speech. Pure."""

import zlib
from collections.abc import Sequence
from typing import Final

MIN_LOG_PROBABILITY: Final = -1.0
"""Mean over the tokens; below it, decoding is retried."""
MAX_COMPRESSION: Final = 2.4
"""Text that compresses better than this is repetitive."""
HOPELESS_LOG_PROBABILITY: Final = -1.5
"""Below it, a text is discarded if no other attempt is better."""
LIKELY_SILENCE: Final = 0.6

_LOOP_TOKENS: Final = 24
_LOOP_TURNS: Final = 4
_MAX_LOOP_WORDS: Final = 12


def compression_ratio(text: str) -> float:
    """Return how many times smaller the compressed text is."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 1.0


def is_looping(tokens: Sequence[int]) -> bool:
    """Return whether text tokens end in the same phrase repeated."""
    for length in range(1, _MAX_LOOP_WORDS + 1):
        turns = max(_LOOP_TURNS, -(-_LOOP_TOKENS // length))
        tail = list(tokens[-turns * length :])
        if len(tail) == turns * length and tail == tail[:length] * turns:
            return True
    return False


def is_believable(text: str, log_probability: float) -> bool:
    """Return whether a text is plausible enough to accept at the first attempt."""
    return log_probability >= MIN_LOG_PROBABILITY and compression_ratio(text) <= MAX_COMPRESSION


def is_hallucinated(log_probability: float, no_speech: float) -> bool:
    """Return whether the text is probably hallucinated because there is no speech."""
    if log_probability < HOPELESS_LOG_PROBABILITY:
        return True
    return no_speech > LIKELY_SILENCE and log_probability < MIN_LOG_PROBABILITY
