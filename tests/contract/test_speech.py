"""The recognizer with its real model, on real people speaking."""

import statistics
from dataclasses import dataclass

import numpy as np
import pytest

from framekiln.settings import Settings
from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.errors import UnknownLanguage
from framekiln.speech.model import Samples, Transcript, join_slices
from framekiln.speech.transcriber import MARGIN_MS, Transcriber, slice_with_margins
from framekiln.speech.whisper_engine import WhisperEngine
from tests.support.speech_clips import SpeechClip, normal_words, read_clip, score, word_errors


@dataclass(frozen=True)
class TranscribedSpeech:
    """Two recordings, one after the other, and what was heard in them."""

    samples: Samples
    text: str
    transcript: Transcript


@pytest.fixture(scope="module")
def speech() -> Transcriber:
    return Transcriber.open(SpeechSettings.of(Settings()))


@pytest.fixture(scope="module")
def reading(speech: Transcriber) -> TranscribedSpeech:
    clips = [read_clip(name) for name in ("austen_0870", "austen_0880")]
    samples = np.concatenate([clip.samples for clip in clips])
    text = " ".join(clip.text for clip in clips)
    return TranscribedSpeech(samples, text, speech.transcribe(samples))


def check_times(transcript: Transcript, duration_ms: int) -> None:
    before_ms = 0
    for segment in transcript.segments:
        assert segment.start_ms == segment.words[0].start_ms
        assert segment.end_ms == segment.words[-1].end_ms
        for word in segment.words:
            assert before_ms <= word.start_ms < word.end_ms <= duration_ms
            assert 0 <= word.probability <= 1
            before_ms = word.end_ms


def test_ordinary_speech_is_understood_and_timed(speech: Transcriber) -> None:
    clip: SpeechClip = read_clip("acoustic_corpus")
    transcript = speech.transcribe(clip.samples, "en-GB")
    found = score(clip, transcript)
    assert found.errors / found.word_count <= 0.15
    assert len(found.late_ms) >= 40
    assert statistics.median(map(abs, found.late_ms)) <= 150
    assert abs(statistics.median(found.late_ms)) <= 80
    check_times(transcript, clip.duration_ms)


def test_the_language_is_detected_and_a_reading_understood(reading: TranscribedSpeech) -> None:
    assert reading.transcript.language == "en"
    said, heard = normal_words(reading.text), normal_words(reading.transcript.text)
    assert word_errors(said, heard) / len(said) <= 0.15
    check_times(reading.transcript, len(reading.samples) // 16)


def test_slices_made_apart_join_to_the_whole_which_is_the_same_again(
    speech: Transcriber, reading: TranscribedSpeech
) -> None:
    duration_ms = len(reading.samples) // 16
    parts = []
    for start_ms, end_ms in ((0, 5000), (5000, duration_ms)):
        part = slice_with_margins(start_ms, end_ms, duration_ms=duration_ms)
        assert part.lead_ms + part.tail_ms == MARGIN_MS
        heard = reading.samples[part.first_ms * 16 : (part.end_ms + part.tail_ms) * 16]
        parts.append(speech.transcribe_slice(heard, part, "en"))
    joined = join_slices(parts)
    whole_words, words = normal_words(reading.transcript.text), normal_words(joined.text)
    assert all(part.words for part in parts)
    assert word_errors(whole_words, words) <= 2
    check_times(joined, duration_ms)
    # After others, which took the place of what was kept of it.
    assert speech.transcribe(reading.samples) == reading.transcript
    check_features_are_kept(speech, reading.samples)


def check_features_are_kept(speech: Transcriber, samples: Samples) -> None:
    """The language of a sound comes from the features that its words came from."""
    engine = speech._listener
    assert isinstance(engine, WhisperEngine)
    kept = engine._whisper._encoded
    assert kept is not None
    assert speech.detect_language(samples) == "en"
    assert engine._whisper._encoded is kept


@pytest.mark.parametrize("kind", ["nothing", "silence", "noise", "tones"])
def test_audio_without_speech_gives_no_words(speech: Transcriber, kind: str) -> None:
    at_s = np.arange(8 * 16_000) / 16_000
    chords = sum(np.sin(2 * np.pi * hz * at_s) for hz in (220, 277.2, 329.6, 440))
    sounds = {
        "nothing": np.zeros(0),
        "silence": np.zeros(len(at_s)),
        "noise": np.random.default_rng(5).normal(0, 0.1, len(at_s)),
        "tones": 0.1 * chords * (1 + np.sin(2 * np.pi * 2 * at_s)),
    }
    transcript = speech.transcribe(sounds[kind].astype(np.float32))
    assert transcript == Transcript(None, engine="whisper-base")
    assert speech.detect_language(sounds[kind].astype(np.float32)) is None


def test_an_unknown_language_is_refused(speech: Transcriber) -> None:
    with pytest.raises(UnknownLanguage):
        speech.transcribe(np.zeros(16_000, np.float32), "tlh")
