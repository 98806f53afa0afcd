"""Transcribes audio: `Transcriber`, the entry point of this package.

It blocks and uses the CPU; call it from a thread. Memory does not grow with the duration, except
for the samples themselves: pass long audio as slices.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.engine_protocol import VoicedSamples
from framekiln.speech.errors import SpeechLanguageUnavailable
from framekiln.speech.languages import check_language, plain_code
from framekiln.speech.loader import LoadedEngine, load_engine
from framekiln.speech.model import (
    SAMPLE_HZ,
    Samples,
    Transcript,
    Word,
    make_segment,
)
from framekiln.speech.voice_activity import speech_spans
from framekiln.speech.windows import pack_windows, quietest_ms
from framekiln.speech.word_times import correct_times

MARGIN_MS: Final = 3000
"""How much audio a slice needs on either side, if the source has it."""
REACH_MS: Final = 2000
"""How far outside a slice its words may end, so that no word is cut in two."""
SLICE_MS: Final = 22_000
"""Slices of this length, with their margins, fill exactly one window of the recognizer."""

# Context beyond a border, so that recognition never starts in the middle of a word.
_CONTEXT_MS: Final = MARGIN_MS - REACH_MS
_SHORT_PAUSE_MS: Final = 100
_PER_MS: Final = SAMPLE_HZ // 1000


@dataclass(frozen=True)
class SpeechSlice:
    """A part of longer audio, and the length of the context around it."""

    start_ms: int
    end_ms: int
    lead_ms: int
    tail_ms: int

    @property
    def first_ms(self) -> int:
        """The time of the first sample."""
        return self.start_ms - self.lead_ms


def slice_with_margins(start_ms: int, end_ms: int, *, duration_ms: int) -> SpeechSlice:
    """Return a slice of the audio with the margins it needs."""
    end_ms = min(end_ms, duration_ms)
    lead_ms, tail_ms = min(MARGIN_MS, start_ms), min(MARGIN_MS, duration_ms - end_ms)
    return SpeechSlice(start_ms, end_ms, lead_ms=lead_ms, tail_ms=tail_ms)


class Transcriber:
    """A loaded recognizer. The same samples give the same transcript."""

    def __init__(self, opened: LoadedEngine, settings: SpeechSettings) -> None:
        self._listener = opened.engine
        self._gate = opened.voice_detector
        self._is_fallback = opened.is_fallback
        self._settings = settings
        self.engine = opened.engine.name
        self.warnings = opened.warnings
        self._language = self.check_language(settings.language) if settings.language else None

    @classmethod
    def open(cls, settings: SpeechSettings) -> "Transcriber":
        """Find an engine, check its files, and load it; takes about a second."""
        return cls(load_engine(settings), settings)

    def check_language(self, language: str) -> str:
        """Return the engine's code for a language; raise if it is unsupported."""
        known, code = self._listener.languages, plain_code(language)
        if self._is_fallback and code not in known and code in self._settings.languages:
            wanted = self._settings.name_of(self._settings.kinds[0])
            raise SpeechLanguageUnavailable(
                f"language {language!r} needs {wanted}, but this worker can only use"
                f" {self.engine}, which knows English alone; install it with `python"
                " scripts/fetch_speech_models.py`, see `framekiln doctor`, and restart the worker",
            )
        return check_language(language, known)

    def detect_language(self, samples: Samples) -> str | None:
        """Return the language of the first half minute of speech; None if there is no speech."""
        spans = speech_spans(self._gate.detect(samples))
        windows = pack_windows(spans, samples, window_ms=self._listener.window_ms)
        if not windows:
            return None
        return self._listener.detect_language(windows[0].cut(samples))

    def transcribe(self, samples: Samples, language: str | None = None) -> Transcript:
        """Return the transcript; without a language, the first one detected is used throughout."""
        samples = np.ascontiguousarray(samples, np.float32)
        chosen = self.check_language(language) if language else self._language
        probabilities = self._gate.detect(samples)
        voice = speech_spans(probabilities, least_ms=0, pause_ms=_SHORT_PAUSE_MS)
        sound = VoicedSamples(samples, tuple(voice))
        spans = speech_spans(probabilities)
        windows = pack_windows(spans, samples, window_ms=self._listener.window_ms)
        segments: list[tuple[Word, ...]] = []
        for window in windows:
            listened = self._listener.recognize(sound, window, chosen)
            chosen = listened.language
            segments += listened.segments
        words = [word for segment in segments for word in segment]
        end_ms = len(samples) // _PER_MS
        words = correct_times(words, voice, end_ms=end_ms, ahead_ms=self._listener.early_ms)
        transcript = _transcript(words, [len(segment) for segment in segments], chosen)
        return replace(transcript, engine=self.engine, warnings=self.warnings)

    def transcribe_slice(
        self, samples: Samples, part: SpeechSlice, language: str | None = None
    ) -> Transcript:
        """Return the words of one slice of longer audio, with times relative to the whole.

        Slices are transcribed separately, yet no word may be lost or duplicated where they meet. So
        both sides move the border to the same place: the quietest one within `REACH_MS`, found in
        samples that both have. A slice may therefore hold words from up to that far outside.
        """
        samples = np.ascontiguousarray(samples, np.float32)
        duration_ms = len(samples) // _PER_MS
        start_ms, end_ms = 0, duration_ms
        if part.lead_ms:
            start_ms = _border_ms(samples, part.lead_ms)
        if part.tail_ms:
            end_ms = _border_ms(samples, part.lead_ms + part.end_ms - part.start_ms)
        first_ms = max(0, start_ms - _CONTEXT_MS)
        context = samples[first_ms * _PER_MS : (end_ms + _CONTEXT_MS) * _PER_MS]
        transcript = self.transcribe(context, language).shifted(first_ms)
        return transcript.between(start_ms, end_ms).shifted(part.first_ms)


def _border_ms(samples: Samples, nominal_ms: int) -> int:
    latest_ms = min(len(samples) // _PER_MS, nominal_ms + REACH_MS)
    return quietest_ms(samples, max(0, nominal_ms - REACH_MS), latest_ms)


def _transcript(words: list[Word], lengths: list[int], language: str | None) -> Transcript:
    segments, first = [], 0
    for length in lengths:
        segments.append(make_segment(words[first : first + length], language))
        first += length
    return Transcript(language, tuple(segments))
