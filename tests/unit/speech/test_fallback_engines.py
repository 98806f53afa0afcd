"""What stands in where a model, a detector or an aligner is missing: the pure parts."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.speech.captions import from_document, to_document
from framekiln.speech.model import Samples, Transcript, Word, join_slices
from framekiln.speech.moonshine_engine import TextPiece, group_pieces, split_sentences
from framekiln.speech.sphinx_engine import split_at_pauses
from framekiln.speech.voice_activity import LoudnessDetector, SpeechSpan, speech_spans
from framekiln.speech.word_times import spread_words

SECOND = 16_000


def word(text: str, start_ms: int, end_ms: int) -> Word:
    return Word(text, start_ms, end_ms, 0.5)


voices = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 900)), min_size=1, max_size=8)


@given(st.lists(st.text("abcdef'.", min_size=1, max_size=9), max_size=20), voices)
def test_spread_words_keep_their_order_inside_the_voice(
    texts: list[str], steps: list[tuple[int, int]]
) -> None:
    voice, at_ms = [], 0
    for pause_ms, length_ms in steps:
        voice.append(SpeechSpan(at_ms + pause_ms, at_ms + pause_ms + length_ms))
        at_ms = voice[-1].end_ms
    spans = spread_words(texts, voice)
    assert len(spans) == len(texts)
    before_ms = 0
    for span in spans:
        assert before_ms <= span.start_ms <= span.end_ms
        assert any(part.start_ms <= span.start_ms <= part.end_ms for part in voice)
        before_ms = span.end_ms


def test_longer_words_take_longer_and_pauses_take_none() -> None:
    short, long = spread_words(["a", "considerable"], [SpeechSpan(500, 1500)])
    assert (short.start_ms, long.end_ms) == (500, 1500)
    assert long.duration_ms > 3 * short.duration_ms
    first, second = spread_words(["same", "same"], [SpeechSpan(0, 1000), SpeechSpan(3000, 4000)])
    assert (first, second) == (SpeechSpan(0, 1000), SpeechSpan(3000, 4000))


def test_words_without_any_voice_have_no_length() -> None:
    assert spread_words(["a", "b"], []) == [SpeechSpan(0, 0), SpeechSpan(0, 0)]


def test_tokens_become_words_with_punctuation() -> None:
    pieces = [(b" He", 0.8), (b"llo", 0.4), (b",", 0.6), (b" -", 0.1), (b" caf", 1.0)]
    pieces += [(b"\xc3", 1.0), (b"\xa9", 1.0), (b".", 1.0)]
    grouped = group_pieces(tuple(TextPiece(*each) for each in pieces))
    assert [text for text, _ in grouped] == ["Hello,-", "café."]
    assert grouped[0][1] == pytest.approx(0.6)
    assert group_pieces(()) == []


def test_sentences_and_pauses_end_segments() -> None:
    words = (word("Well.", 0, 200), word("Good", 250, 400), word("day!", 900, 1200))
    assert [len(each) for each in split_sentences(words)] == [1, 2]
    assert [len(each) for each in split_at_pauses(words)] == [2, 1]
    assert split_at_pauses([]) == []
    assert split_sentences(()) == []


def noise(seconds: int, loudness: float) -> Samples:
    return np.random.default_rng(3).normal(0, loudness, seconds * SECOND).astype(np.float32)


@pytest.mark.parametrize(
    "sound",
    [
        lambda: np.zeros(0, np.float32),
        lambda: np.zeros(5 * SECOND, np.float32),
        lambda: noise(5, 0.1),
        lambda: noise(5, 0.0005),
    ],
)
def test_steady_sound_is_not_speech(sound: Callable[[], Samples]) -> None:
    assert speech_spans(LoudnessDetector().detect(sound())) == []


def test_sound_much_louder_than_the_rest_is_speech() -> None:
    samples = noise(6, 0.002)
    samples[2 * SECOND : 4 * SECOND] += noise(2, 0.1)
    (span,) = speech_spans(LoudnessDetector().detect(samples))
    assert abs(span.start_ms - 2000) <= 64
    assert abs(span.end_ms - 4000) <= 64


def test_every_form_of_a_transcript_names_its_engine() -> None:
    mine = Transcript("en", engine="whisper-base")
    theirs = Transcript("en", engine="pocketsphinx", warnings=("made by pocketsphinx",))
    assert from_document(to_document(theirs)) == theirs
    assert theirs.shifted(5).between(0, 9) == theirs
    joined = join_slices([mine, theirs, theirs, Transcript(None)])
    assert joined.engine == "whisper-base, pocketsphinx"
    assert joined.warnings == theirs.warnings
    # One that was kept before engines had names.
    assert from_document({"language": None, "segments": []}) == Transcript(None)
