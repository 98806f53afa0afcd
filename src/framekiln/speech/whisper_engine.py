"""The Whisper engine: decodes a window again if text is missing.

The recognizer sometimes skips a whole sentence, most often where the speaker changes. The alignment
then stretches a word over it. Such a window is decoded again in two halves.
"""

from itertools import pairwise
from pathlib import Path
from typing import Final

from framekiln.speech.engine_protocol import (
    RecognizedWindow,
    VoicedSamples,
    place_words,
    split_window,
    voiced_ms,
)
from framekiln.speech.model import Samples, Word
from framekiln.speech.token_search import detect_language
from framekiln.speech.whisper import Whisper
from framekiln.speech.whisper_window import recognize_window
from framekiln.speech.windows import WINDOW_MS, SpeechWindow

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
