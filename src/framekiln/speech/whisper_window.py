"""One window of speech: its text, cut into segments of words with times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from framekiln.speech.alignment import STEP_MS, token_times_ms
from framekiln.speech.model import Samples, Word
from framekiln.speech.networks import Array
from framekiln.speech.token_search import decode_tokens, detect_language
from framekiln.speech.token_words import TokenWord, group_words
from framekiln.speech.whisper import Attention, Whisper
from framekiln.speech.whisper_tokens import WhisperTokens


@dataclass(frozen=True)
class WindowWords:
    """The words of a window; times count from its start."""

    language: str
    segments: tuple[tuple[Word, ...], ...] = ()


def recognize_window(whisper: Whisper, samples: Samples, language: str | None) -> WindowWords:
    """Return the words of a window, by segment; without a language, detect it."""
    features = whisper.encode(samples)
    language = language or detect_language(whisper, features)
    decoded = decode_tokens(whisper, features, language)
    groups = list(_segments(whisper.tokens, decoded.tokens))
    text = [token for group in groups for token in group]
    if not text:
        return WindowWords(language)
    words = _timed_words(whisper, features, text, language=language, samples=len(samples))
    return WindowWords(language, tuple(_distribute(words, [len(group) for group in groups])))


def _segments(tokens: WhisperTokens, decoded: Sequence[int]) -> Iterator[list[int]]:
    """Yield the text tokens between timestamps."""
    group: list[int] = []
    for token in decoded:
        if tokens.is_text(token):
            group.append(token)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _timed_words(
    whisper: Whisper, features: Array, text: list[int], *, language: str, samples: int
) -> list[tuple[TokenWord, Word]]:
    tokens = whisper.tokens
    prompt = [*tokens.prompt(language), tokens.no_timestamps]
    attention = whisper.cross_attention(features, [*prompt, *text, tokens.end])
    first = len(prompt)
    steps = max(2, samples // (STEP_MS * 16))
    # The row that predicts a token attends to where that token is spoken.
    times_ms = token_times_ms(attention.weights[:, first - 1 : -1, :steps])
    probabilities = _probabilities(attention, text, first)
    timed = []
    for word in group_words(tokens, text, language):
        spoken = Word(
            text=word.text,
            start_ms=times_ms[word.first],
            end_ms=times_ms[word.end],
            probability=float(np.mean(probabilities[word.first : word.end])),
        )
        timed.append((word, spoken))
    return timed


def _probabilities(attention: Attention, text: list[int], first: int) -> list[float]:
    rows = attention.logits[first - 1 : first - 1 + len(text)]
    rows = rows - rows.max(axis=-1, keepdims=True)
    logs = rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))
    return [float(np.exp(row[token])) for row, token in zip(logs, text, strict=True)]


def _distribute(
    timed: list[tuple[TokenWord, Word]], lengths: list[int]
) -> Iterator[tuple[Word, ...]]:
    """Yield the words of each segment; a word across a border belongs to where it begins."""
    end, place = 0, 0
    for length in lengths:
        end += length
        words = []
        while place < len(timed) and timed[place][0].first < end:
            words.append(timed[place][1])
            place += 1
        if words:
            yield tuple(words)
