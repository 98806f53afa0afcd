"""What is believable, and times that make sense."""

from hypothesis import given
from hypothesis import strategies as st

from framekiln.speech import hallucination
from framekiln.speech.model import Transcript, Word, join_slices, make_segment
from framekiln.speech.voice_activity import SpeechSpan
from framekiln.speech.word_times import MIN_WORD_MS, correct_times, in_order


def spoken(text: str, start_ms: int, end_ms: int) -> Word:
    return Word(text, start_ms, end_ms, 0.9)


def transcript(*words: Word, language: str = "en") -> Transcript:
    return Transcript(language, (make_segment(list(words), language),))


def test_loops_are_detected_and_ordinary_repetition_is_not() -> None:
    assert hallucination.is_looping([7, 8] * 12)
    assert hallucination.is_looping([1, 2, 3, *[9] * 24])
    assert hallucination.is_looping(list(range(10)) * 4)
    assert not hallucination.is_looping([5] * 5)
    assert not hallucination.is_looping(list(range(100)))
    assert not hallucination.is_looping([])


def test_highly_repetitive_text_is_refused() -> None:
    assert not hallucination.is_believable("thank you very much " * 20, -0.2)
    assert hallucination.is_believable("He was not an ill-disposed young man.", -0.2)
    assert not hallucination.is_believable("He was not an ill-disposed young man.", -1.2)


def test_unlikely_text_without_speech_is_a_hallucination() -> None:
    assert hallucination.is_hallucinated(-1.1, 0.9)
    assert not hallucination.is_hallucinated(-1.1, 0.1)
    assert not hallucination.is_hallucinated(-0.3, 0.9)
    assert hallucination.is_hallucinated(-1.8, 0.0)


times = st.lists(st.tuples(st.integers(-500, 9000), st.integers(-500, 9000)), max_size=40)


@given(times)
def test_words_are_ordered_and_have_a_duration(pairs: list[tuple[int, int]]) -> None:
    words = in_order([spoken("a", start, end) for start, end in pairs], end_ms=8000)
    before_ms = 0
    for word in words:
        assert before_ms <= word.start_ms
        assert word.end_ms - word.start_ms >= MIN_WORD_MS
        before_ms = word.end_ms
    assert before_ms <= 8000


def test_a_word_does_not_start_in_the_pause_before_it() -> None:
    voice = [SpeechSpan(0, 1000), SpeechSpan(3000, 4000)]
    (word,) = correct_times([spoken("late", 950, 3500)], voice, end_ms=5000, ahead_ms=50)
    assert 2950 <= word.start_ms <= 3000
    assert word.end_ms == 3550


def test_a_word_does_not_end_in_the_pause_after_it() -> None:
    voice = [SpeechSpan(0, 1000), SpeechSpan(3000, 4000)]
    (word,) = correct_times([spoken("slow", 500, 2500)], voice, end_ms=5000, ahead_ms=50)
    assert word.start_ms == 550
    assert 1000 <= word.end_ms <= 1050


def test_a_word_without_any_voice_stays_where_it_is() -> None:
    (word,) = correct_times(
        [spoken("soft", 5000, 5200)], [SpeechSpan(0, 1000)], end_ms=9000, ahead_ms=50
    )
    assert (word.start_ms, word.end_ms) == (5050, 5250)


def test_cutting_keeps_words_by_their_middle_and_joins_their_text() -> None:
    whole = transcript(
        spoken("One", 0, 400), spoken("two", 400, 1000), spoken("three.", 1000, 1500)
    )
    left, right = whole.between(0, 700), whole.between(700, 2000)
    assert left.text == "One"
    assert right.text == "two three."
    assert (right.segments[0].start_ms, right.segments[0].end_ms) == (400, 1500)
    assert join_slices([left, right]).words == whole.words


def test_text_without_spaces_is_joined_without_spaces() -> None:
    words = [spoken(text, 0, 1) for text in ("今日", "は", "hello", "world", "です。")]
    assert transcript(*words, language="ja").text == "今日はhello worldです。"


def test_the_language_of_joined_slices_is_that_of_most_words() -> None:
    german = transcript(spoken("ja", 9000, 9100), language="de")
    english = transcript(spoken("yes", 0, 100), spoken("sir", 100, 200))
    joined = join_slices([german, Transcript(None), english])
    assert joined.language == "en"
    assert [word.text for word in joined.words] == ["yes", "sir", "ja"]
