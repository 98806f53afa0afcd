"""The Whisper engine: decodes a window again if text is missing.

The recognizer sometimes skips a whole sentence, most often where the speaker changes. The alignment
then stretches a word over it. Such a window is decoded again in two halves.

The text of each window is cut into segments of words with times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.speech.engine_protocol import (
    RecognizedWindow,
    VoicedSamples,
    place_words,
    split_window,
    voiced_ms,
)
from framekiln.speech.model import Samples, Word
from framekiln.speech.networks import Array
from framekiln.speech.token_search import decode_tokens, detect_language
from framekiln.speech.token_words import STEP_MS, TokenWord, group_words, token_times_ms
from framekiln.speech.whisper import Attention, Whisper
from framekiln.speech.whisper_tokens import WhisperTokens
from framekiln.speech.windows import WINDOW_MS, SpeechWindow


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


_MAX_WORD_MS: Final = 3000
_MIN_WINDOW_MS: Final = 6000


class WhisperEngine:
    """The default engine: many languages, with detection."""

    window_ms: Final = WINDOW_MS
    # The path through the attention is ahead of the voice.
    early_ms: Final = 50

    def __init__(self, folder: Path, *, name: str, threads: int) -> None:
        self.name = name
        self._whisper = Whisper(folder, threads=threads)
        self.languages = frozenset(self._whisper.tokens.languages)

    def detect_language(self, samples: Samples) -> str:
        """Return the most likely language of a window."""
        return detect_language(self._whisper, self._whisper.encode(samples))

    def recognize(
        self, sound: VoicedSamples, window: SpeechWindow, language: str | None
    ) -> RecognizedWindow:
        """Return the speech in a window; without a language, detect it."""
        recognized = recognize_window(self._whisper, window.cut(sound.samples), language)
        first = RecognizedWindow(
            recognized.language, tuple(place_words(words, window) for words in recognized.segments)
        )
        if window.duration_ms < _MIN_WINDOW_MS or not _lacks_words(first.words, window, sound):
            return first
        halves = [
            self.recognize(sound, half, recognized.language)
            for half in split_window(window, sound.samples)
        ]
        second = RecognizedWindow(
            recognized.language, tuple(s for half in halves for s in half.segments)
        )
        return second if len(second.words) > len(first.words) else first


def _lacks_words(words: list[Word], window: SpeechWindow, sound: VoicedSamples) -> bool:
    """Return whether there is speech for longer than any word lasts without another word."""
    starts_ms = [window.pieces[0].start_ms, *(word.start_ms for word in words[1:])]
    edges_ms = [*starts_ms, window.pieces[-1].end_ms]
    return any(
        voiced_ms(sound.voice, start_ms, end_ms) > _MAX_WORD_MS
        for start_ms, end_ms in pairwise(edges_ms)
    )
