"""The Moonshine engine: English only, less than half of Whisper's size and time.

It has no word times. If pocketsphinx is installed, it aligns the words with the audio; the
remaining words are distributed over the speech by their length.
"""

from pathlib import Path
from typing import Final

import structlog

from framekiln.speech import hallucination, sphinx
from framekiln.speech.engine_protocol import (
    RecognizedWindow,
    VoicedSamples,
    place_words,
    split_window,
)
from framekiln.speech.errors import SpeechEngineFailed
from framekiln.speech.languages import ENGLISH
from framekiln.speech.model import Samples, Word
from framekiln.speech.moonshine import Moonshine, TextPiece
from framekiln.speech.voice_activity import SpeechSpan
from framekiln.speech.windows import SpeechWindow
from framekiln.speech.word_times import spread_words

log = structlog.get_logger(__name__)

_LANGUAGE: Final = "en"
_MIN_WINDOW_MS: Final = 6000
_ENDS_SENTENCE: Final = (".", "?", "!")


class MoonshineEngine:
    """The first fallback."""

    window_ms: Final = 15_000
    early_ms: Final = 0
    languages: Final = ENGLISH

    def __init__(self, folder: Path, *, name: str, threads: int) -> None:
        self.name = name
        self._moonshine = Moonshine(folder, threads=threads)
        self._aligns = sphinx.is_installed()

    def detect_language(self, samples: Samples) -> str:
        """Return English in any case."""
        return _LANGUAGE

    def recognize(
        self, sound: VoicedSamples, window: SpeechWindow, language: str | None
    ) -> RecognizedWindow:
        """Return the speech in a window; if nothing is plausible, recognize it in two halves."""
        samples = window.cut(sound.samples)
        uttered = self._moonshine.recognize(samples)
        if not uttered.is_loop and hallucination.is_believable(
            uttered.text, uttered.log_probability
        ):
            words = self._timed(group_pieces(uttered.pieces), samples, _voice_in(window, sound))
            return RecognizedWindow(_LANGUAGE, tuple(split_sentences(place_words(words, window))))
        if window.duration_ms < _MIN_WINDOW_MS:
            return RecognizedWindow(_LANGUAGE, ())
        halves = [
            self.recognize(sound, half, language) for half in split_window(window, sound.samples)
        ]
        return RecognizedWindow(_LANGUAGE, tuple(s for half in halves for s in half.segments))

    def _timed(
        self, words: list[tuple[str, float]], samples: Samples, voice: list[SpeechSpan]
    ) -> list[Word]:
        found = self._align([text for text, _ in words], samples)
        timed = [SpeechSpan(word.start_ms, word.end_ms) for word in found]
        if len(timed) < len(words):
            from_ms = timed[-1].end_ms if timed else 0
            rest = [
                SpeechSpan(max(from_ms, span.start_ms), span.end_ms)
                for span in voice
                if span.end_ms > from_ms
            ]
            timed += spread_words([text for text, _ in words[len(timed) :]], rest)
        return [
            Word(text, span.start_ms, span.end_ms, probability)
            for (text, probability), span in zip(words, timed, strict=True)
        ]

    def _align(self, texts: list[str], samples: Samples) -> list[Word]:
        if not self._aligns or not texts:
            return []
        try:
            return sphinx.align(samples, texts)
        except SpeechEngineFailed as error:
            log.warning("speech.alignment_unavailable", reason=error.message)
            return []


def group_pieces(pieces: tuple[TextPiece, ...]) -> list[tuple[str, float]]:
    """Return words and their probabilities; separate punctuation belongs to the word before it."""
    words: list[tuple[bytes, list[float]]] = []
    for piece in pieces:
        if not words or piece.text.startswith(b" "):
            words.append((b"", []))
        text, probabilities = words[-1]
        words[-1] = (text + piece.text, [*probabilities, piece.probability])
    grouped: list[tuple[str, float]] = []
    for raw, probabilities in words:
        written = raw.decode("utf-8", errors="ignore").strip()
        probability = sum(probabilities) / len(probabilities)
        if any(letter.isalnum() for letter in written):
            grouped.append((written, probability))
        elif written and grouped:
            grouped[-1] = (grouped[-1][0] + written, grouped[-1][1])
    return grouped


def split_sentences(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return the words sentence by sentence."""
    sentences: list[list[Word]] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word.text.endswith(_ENDS_SENTENCE):
            sentences.append([])
    return [tuple(sentence) for sentence in sentences if sentence]


def _voice_in(window: SpeechWindow, sound: VoicedSamples) -> list[SpeechSpan]:
    """Return the spans of speech in a window, relative to the window."""
    voice, before_ms = [], 0
    for piece in window.pieces:
        for span in sound.voice:
            start_ms = max(span.start_ms, piece.start_ms)
            end_ms = min(span.end_ms, piece.end_ms)
            if end_ms > start_ms:
                shift_ms = before_ms - piece.start_ms
                voice.append(SpeechSpan(start_ms + shift_ms, end_ms + shift_ms))
        before_ms += piece.duration_ms
    return voice or [SpeechSpan(0, window.duration_ms)]
