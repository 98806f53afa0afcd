"""The pocketsphinx engine: the last fallback. More than half of its words are wrong."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from framekiln.speech import sphinx
from framekiln.speech.engine_protocol import RecognizedWindow, VoicedSamples, place_words
from framekiln.speech.languages import ENGLISH
from framekiln.speech.model import Samples, Word
from framekiln.speech.windows import WINDOW_MS, SpeechWindow

_LANGUAGE: Final = "en"
# It writes no full stops, so a pause ends a segment.
_PAUSE_MS: Final = 300


class SphinxEngine:
    """English only; loads its model again for each window, in a separate process."""

    window_ms: Final = WINDOW_MS
    early_ms: Final = 0
    languages: Final = ENGLISH

    def __init__(self, *, name: str) -> None:
        sphinx.require_installed()
        self.name = name

    def detect_language(self, samples: Samples) -> str:
        """Return English in any case."""
        return _LANGUAGE

    def recognize(
        self, sound: VoicedSamples, window: SpeechWindow, language: str | None
    ) -> RecognizedWindow:
        """Return the speech in a window."""
        words = place_words(sphinx.recognize(window.cut(sound.samples)), window)
        return RecognizedWindow(_LANGUAGE, tuple(split_at_pauses(words)))


def split_at_pauses(words: Sequence[Word]) -> list[tuple[Word, ...]]:
    """Return groups of words without a pause between them."""
    if not words:
        return []
    runs = [[words[0]]]
    for before, word in pairwise(words):
        if word.start_ms - before.end_ms >= _PAUSE_MS:
            runs.append([])
        runs[-1].append(word)
    return [tuple(run) for run in runs]
