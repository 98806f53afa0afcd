"""What stands in where a model, a detector or an aligner is missing: the pure parts."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.speech.captions import as_document, from_document
from framekiln.speech.loudness import LoudnessGate
from framekiln.speech.model import Samples, Transcript, Word, join_slices
from framekiln.speech.moonshine import Piece
from framekiln.speech.moonshine_listener import group_pieces, split_sentences
from framekiln.speech.sphinx_listener import split_at_pauses
from framekiln.speech.spreading import spread
from framekiln.speech.voice import Span, spans_of_speech

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
        voice.append(Span(at_ms + pause_ms, at_ms + pause_ms + length_ms))
        at_ms = voice[-1].end_ms
    spans = spread(texts, voice)
    assert len(spans) == len(texts)
    before_ms = 0
    for span in spans:
        assert before_ms <= span.start_ms <= span.end_ms
        assert any(part.start_ms <= span.start_ms <= part.end_ms for part in voice)
        before_ms = span.end_ms


def test_longer_words_take_longer_and_pauses_take_none() -> None:
    short, long = spread(["a", "considerable"], [Span(500, 1500)])
    assert (short.start_ms, long.end_ms) == (500, 1500)
    assert long.duration_ms > 3 * short.duration_ms
    first, second = spread(["same", "same"], [Span(0, 1000), Span(3000, 4000)])
    assert (first, second) == (Span(0, 1000), Span(3000, 4000))


def test_words_without_any_voice_have_no_length() -> None:
    assert spread(["a", "b"], []) == [Span(0, 0), Span(0, 0)]


def test_pieces_become_words_with_their_marks() -> None:
    pieces = [(b" He", 0.8), (b"llo", 0.4), (b",", 0.6), (b" -", 0.1), (b" caf", 1.0)]
    pieces += [(b"\xc3", 1.0), (b"\xa9", 1.0), (b".", 1.0)]
    grouped = group_pieces(tuple(Piece(*each) for each in pieces))
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
def test_what_is_steady_is_taken_for_nobody(sound: Callable[[], Samples]) -> None:
    assert spans_of_speech(LoudnessGate().listen(sound())) == []


def test_what_is_much_louder_than_the_rest_is_taken_for_somebody() -> None:
    samples = noise(6, 0.002)
    samples[2 * SECOND : 4 * SECOND] += noise(2, 0.1)
    (span,) = spans_of_speech(LoudnessGate().listen(samples))
    assert abs(span.start_ms - 2000) <= 64
    assert abs(span.end_ms - 4000) <= 64


def test_a_transcript_says_who_made_it_wherever_it_goes() -> None:
    mine = Transcript("en", engine="whisper-base")
    theirs = Transcript("en", engine="pocketsphinx", warnings=("made by pocketsphinx",))
    assert from_document(as_document(theirs)) == theirs
    assert theirs.shifted(5).between(0, 9) == theirs
    joined = join_slices([mine, theirs, theirs, Transcript(None)])
    assert joined.engine == "whisper-base, pocketsphinx"
    assert joined.warnings == theirs.warnings
    # One that was kept before engines had names.
    assert from_document({"language": None, "segments": []}) == Transcript(None)
