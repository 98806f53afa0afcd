"""Transcripts written as files, read again by the reader of caption files."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.captions import read_captions
from framekiln.speech.captions import (
    LINE_COLUMNS,
    LINES,
    columns,
    from_document,
    make_cues,
    to_document,
    to_json,
    to_page_captions,
    to_srt,
    to_vtt,
)
from framekiln.speech.model import Transcript, Word, make_segment


def sentence(text: str, start_ms: int = 0, word_ms: int = 300, language: str = "en") -> Transcript:
    words = [
        Word(word, start_ms + at * word_ms, start_ms + (at + 1) * word_ms, 0.5)
        for at, word in enumerate(text.split())
    ]
    return Transcript(language, (make_segment(words, language),))


LONG = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune,"
    " must be in want of a wife. However little known the feelings or views of such a man may be"
)


def test_vtt_and_srt_read_back_as_the_same_words_and_times() -> None:
    said = sentence(LONG, start_ms=3_599_000)
    for text in (to_vtt(said), to_srt(said)):
        captions = read_captions(text.encode())
        assert [word.text for word in captions.words] == LONG.split()
        assert captions.segments[0].start_ms == 3_599_000
        assert captions.segments[-1].end_ms == said.words[-1].end_ms
    assert to_vtt(said).startswith("WEBVTT\n\n00:59:59.000 --> 01:00:0")
    assert to_srt(said).startswith("1\n00:59:59,000 --> 01:00:0")


def test_vtt_with_word_times_reads_back_each_word_s_start() -> None:
    said = sentence(LONG)
    captions = read_captions(to_vtt(said, word_times=True).encode())
    assert [(word.text, word.start_ms) for word in captions.words] == [
        (word.text, word.start_ms) for word in said.words
    ]


def test_special_characters_are_escaped() -> None:
    said = sentence("a<b> & c --> d")
    for word_times in (False, True):
        (segment,) = read_captions(to_vtt(said, word_times=word_times).encode()).segments
        assert segment.text == "a<b> & c --> d"
    (segment,) = read_captions(to_srt(sentence("c --> d")).encode()).segments
    assert segment.text == "c -> d"


def test_lines_are_short_and_sentences_end_cues() -> None:
    cues = make_cues(sentence(LONG))
    assert all(len(cue.lines) <= LINES for cue in cues)
    assert all(columns(line) <= LINE_COLUMNS for cue in cues for line in cue.texts())
    assert any(cue.texts()[-1].endswith("a wife.") for cue in cues)


def test_text_without_spaces_is_wrapped_by_its_width() -> None:
    said = sentence(" ".join("日本語の文章はとても長い" * 8), word_ms=100, language="ja")
    cues = make_cues(said)
    assert all(columns(line) <= LINE_COLUMNS for cue in cues for line in cue.texts())
    assert "".join(line for cue in cues for line in cue.texts()) == said.text


def test_a_pause_ends_a_cue_and_short_cues_are_prolonged() -> None:
    words = [Word("Yes.", 0, 100, 1), Word("No.", 5000, 5100, 1), Word("Oh.", 5300, 5400, 1)]
    cues = make_cues(Transcript("en", tuple(make_segment([word], "en") for word in words)))
    assert [(cue.start_ms, cue.end_ms) for cue in cues] == [(0, 700), (5000, 5300), (5300, 6000)]


times = st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 60_000)), max_size=30)


@given(times)
def test_cues_are_well_formed_whatever_the_times(pairs: list[tuple[int, int]]) -> None:
    words = [Word(f"w{at}", start, end, 1) for at, (start, end) in enumerate(pairs)]
    said = Transcript("en", tuple(make_segment([word], "en") for word in words))
    before_ms = 0
    for cue in make_cues(said):
        assert before_ms <= cue.start_ms < cue.end_ms
        before_ms = cue.end_ms


def test_json_has_all_fields() -> None:
    said = sentence("One two.")
    document = json.loads(to_json(said))
    assert document == to_document(said)
    assert document["segments"][0]["words"][1] == {
        "text": "two.",
        "start_ms": 300,
        "end_ms": 600,
        "probability": 0.5,
    }
    assert from_document(document) == said


def test_captions_for_pages_are_in_seconds() -> None:
    page = to_page_captions(sentence("One two."))
    assert page["segments"] == [{"start": 0.0, "end": 0.6, "text": "One two."}]
    assert page["word_segments"][1] == {"start": 0.3, "end": 0.6, "text": "two."}


def test_an_empty_transcript_gives_empty_files() -> None:
    nothing = Transcript(None)
    assert to_vtt(nothing) == "WEBVTT\n"
    assert to_srt(nothing) == ""
    empty: dict[str, Any] = {"language": None, "engine": None, "warnings": [], "segments": []}
    assert json.loads(to_json(nothing)) == empty
