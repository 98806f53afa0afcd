"""Corrections are merged into what was recognized, by time."""

from datetime import UTC, datetime

import pytest

from framekiln.speech.model import Transcript, Word, make_segment
from framekiln.transcripts.corrections import (
    TranscriptCorrection,
    check_correction,
    merge_corrections,
    split_words,
)
from framekiln.transcripts.errors import CorrectionOverlaps

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def correction(start_ms: int, end_ms: int, text: str) -> TranscriptCorrection:
    return TranscriptCorrection(start_ms, end_ms, "", text, NOW)


def transcript(*segments: str, step_ms: int = 100, language: str = "en") -> Transcript:
    """Words of `step_ms` each; a segment begins a step after the last."""
    at_ms, made = 0, []
    for text in segments:
        words = []
        for word in text.split():
            words.append(Word(word, at_ms, at_ms + step_ms, 0.5))
            at_ms += step_ms
        made.append(make_segment(words, language))
        at_ms += step_ms
    return Transcript(language, tuple(made), engine="whisper-base")


def test_a_word_of_another_spelling_keeps_its_time() -> None:
    merged = merge_corrections(transcript("I like frame kill"), [correction(300, 400, "Kiln")])
    [segment] = merged.segments
    assert segment.text == "I like frame Kiln"
    assert [word.start_ms for word in segment.words] == [0, 100, 200, 300]
    assert [word.probability for word in segment.words] == [0.5, 0.5, 0.5, 1.0]
    assert merged.engine == "whisper-base"


def test_another_number_of_words_shares_the_time_by_letters() -> None:
    merged = merge_corrections(transcript("frame kill"), [correction(0, 200, "a kil it")])
    assert [(word.text, word.start_ms, word.end_ms) for word in merged.words] == [
        ("a", 0, 33),
        ("kil", 33, 133),
        ("it", 133, 200),
    ]


def test_segments_that_share_a_correction_become_one() -> None:
    said = transcript("one two", "three four", "five six")
    [first, second] = merge_corrections(said, [correction(100, 400, "2 3")]).segments
    assert (first.text, first.start_ms, first.end_ms) == ("one 2 3 four", 0, 500)
    assert second == said.segments[2]


def test_an_empty_correction_removes_words_and_empty_segments() -> None:
    said = transcript("thank you", "real words")
    [kept] = merge_corrections(said, [correction(0, 250, "")]).segments
    assert kept.text == "real words"


def test_a_correction_where_nothing_was_recognized_stands_alone() -> None:
    said = transcript("one", "two")
    merged = merge_corrections(said, [correction(5000, 6000, "hello there")])
    assert [segment.text for segment in merged.segments] == ["one", "two", "hello there"]
    assert merged.segments[2].end_ms == 6000
    between = merge_corrections(said, [correction(120, 180, "and")])
    assert [segment.text for segment in between.segments] == ["one", "and", "two"]


def test_a_new_transcription_of_the_same_sound_keeps_corrections() -> None:
    """Its words and segments are cut differently, so only the time decides."""
    corrections = [correction(0, 400, "I like Framekiln"), correction(720, 900, "Ada")]
    before = transcript("I like frame kill", "says eight a")
    after = transcript("eye like", "fray", "said aid are", step_ms=110)
    texts = {merge_corrections(said, corrections).text for said in (before, after)}
    assert texts == {"I like Framekiln says eight Ada", "I like Framekiln said aid Ada"}


def test_text_without_spaces_is_cut_into_letters_and_joined_alike() -> None:
    assert split_words("今日はAda、です。", "ja") == ["今", "日", "は", "Ada、", "で", "す。"]
    said = transcript("今 日", language="ja")
    assert merge_corrections(said, [correction(0, 200, "今日はAda")]).text == "今日はAda"


def test_a_correction_that_would_cut_another_is_refused() -> None:
    known = [correction(100, 200, "x"), correction(300, 400, "y")]
    for start_ms, end_ms in ((0, 100), (100, 200), (0, 500), (200, 300)):
        check_correction(correction(start_ms, end_ms, ""), known)
    for start_ms, end_ms in ((0, 150), (150, 160), (199, 500)):
        with pytest.raises(CorrectionOverlaps, match="from 100 to 200 ms"):
            check_correction(correction(start_ms, end_ms, ""), known)
