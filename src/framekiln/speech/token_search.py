"""Decodes tokens from audio features: greedily, then by sampling until the text is plausible.

The random generator is seeded: the same audio gives the same text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from framekiln.speech import hallucination
from framekiln.speech.networks import Array
from framekiln.speech.whisper import Logits, Whisper
from framekiln.speech.whisper_tokens import TIMESTAMP_MS, WhisperTokens

TEMPERATURES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

# The decoder holds 448 tokens, including the prompt.
_MAX_TOKENS: Final = 430
_LATEST_FIRST_MS: Final = 1000
_SEED: Final = 20_250_101


@dataclass(frozen=True)
class DecodedTokens:
    """Tokens of one window, including timestamps; empty if no text is plausible."""

    tokens: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class _Attempt:
    tokens: tuple[int, ...]
    log_probability: float
    is_loop: bool


def detect_language(whisper: Whisper, encoded: Array) -> str:
    """Return the most likely language of a window."""
    tokens = whisper.tokens
    logits = whisper.start(encoded, [tokens.start]).logits[-1]
    return max(tokens.languages, key=lambda code: float(logits[tokens.languages[code]]))


def decode_tokens(whisper: Whisper, encoded: Array, language: str) -> DecodedTokens:
    """Return the decoded tokens of a window."""
    tokens = whisper.tokens
    tried: list[_Attempt] = []
    no_speech = 0.0
    for temperature in TEMPERATURES:
        attempt, no_speech = _attempt(whisper, encoded, language, temperature=temperature)
        tried.append(attempt)
        text = tokens.decode(attempt.tokens)
        if not attempt.is_loop and hallucination.is_believable(text, attempt.log_probability):
            break
    best = _best(tokens, tried)
    if best is None or hallucination.is_hallucinated(best.log_probability, no_speech):
        return DecodedTokens((), -np.inf)
    return DecodedTokens(best.tokens, best.log_probability)


def _best(tokens: WhisperTokens, tried: list[_Attempt]) -> _Attempt | None:
    """Return the most likely attempt that does not repeat itself."""
    sound = [
        attempt
        for attempt in tried
        if not attempt.is_loop
        and hallucination.compression_ratio(tokens.decode(attempt.tokens))
        <= hallucination.MAX_COMPRESSION
    ]
    return max(sound, key=lambda attempt: attempt.log_probability, default=None)


def _attempt(
    whisper: Whisper, encoded: Array, language: str, *, temperature: float
) -> tuple[_Attempt, float]:
    tokens = whisper.tokens
    chance = np.random.default_rng(_SEED)
    step = whisper.start(encoded, tokens.prompt(language))
    no_speech = float(np.exp(_log_softmax(step.logits[0])[tokens.no_speech]))
    decoded: list[int] = []
    sum_log, is_loop = 0.0, False
    for _ in range(_MAX_TOKENS):
        logits = mask_forbidden(tokens, decoded, step.logits[-1])
        log_probabilities = _log_softmax(logits)
        token = _choose(log_probabilities, temperature, chance)
        sum_log += float(log_probabilities[token])
        if token == tokens.end:
            break
        decoded.append(token)
        is_loop = hallucination.is_looping([one for one in decoded if tokens.is_text(one)])
        if is_loop:
            break
        step = whisper.advance(encoded, token, step)
    attempt = _Attempt(tuple(decoded), sum_log / (len(decoded) + 1), is_loop)
    return attempt, no_speech


def _choose(log_probabilities: Logits, temperature: float, chance: np.random.Generator) -> int:
    if temperature == 0:
        return int(log_probabilities.argmax())
    # The maximum of the logits plus Gumbel noise is a sample of the softmax.
    noise = chance.gumbel(size=log_probabilities.shape)
    return int((log_probabilities / temperature + noise).argmax())


def mask_forbidden(tokens: WhisperTokens, decoded: Sequence[int], logits: Logits) -> Logits:
    """Return the logits with all invalid next tokens masked.

    Timestamps come in pairs around text, never decrease, and start the window.
    """
    logits = logits.copy()
    first_time = tokens.first_timestamp
    logits[[*tokens.suppressed, tokens.no_timestamps]] = -np.inf
    logits[tokens.end + 1 : tokens.no_timestamps] = -np.inf
    if not decoded:
        logits[list(tokens.suppressed_at_first)] = -np.inf
        logits[:first_time] = -np.inf
        logits[first_time + _LATEST_FIRST_MS // TIMESTAMP_MS + 1 :] = -np.inf
        return logits
    _pair_times(tokens, decoded, logits)
    log_probabilities = _log_softmax(logits)
    any_time = _log_sum(log_probabilities[first_time:])
    if any_time > log_probabilities[:first_time].max():
        logits[:first_time] = -np.inf
    return logits


def _pair_times(tokens: WhisperTokens, decoded: Sequence[int], logits: Logits) -> None:
    first_time = tokens.first_timestamp
    after_time = decoded[-1] >= first_time
    after_pair = after_time and (len(decoded) < 2 or decoded[-2] >= first_time)
    if after_pair:
        logits[first_time:] = -np.inf
    elif after_time:
        logits[: tokens.end] = -np.inf
    times = [token for token in decoded if token >= first_time]
    # A text lasts at least one step; a pause may be empty.
    earliest = times[-1] if after_time and not after_pair else times[-1] + 1
    logits[first_time:earliest] = -np.inf


def _log_softmax(logits: Logits) -> Logits:
    return np.asarray(logits - _log_sum(logits), np.float64)


def _log_sum(logits: Logits) -> float:
    top = logits.max()
    if not np.isfinite(top):
        return float(top)
    return float(top + np.log(np.exp(logits - top).sum()))
