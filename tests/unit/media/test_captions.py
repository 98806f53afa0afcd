"""WebVTT and SubRip become segments and words; what is wrong is named with its line."""

from itertools import pairwise

import pytest

from framekiln.media.captions import CaptionTrack, TimedText, read_captions
from framekiln.media.errors import UnreadableCaptions


def read(text: str) -> CaptionTrack:
    return read_captions(text.encode())


VTT = """\
WEBVTT - a title

NOTE
This is no cue --> really

STYLE
::cue { color: red }

REGION
id:low

first
00:01.000 --> 00:02.500 align:start position:10%
<v Ann>Fish &amp; <b>chips</b>

1:00:03.000 --> 1:00:04.000
two
lines
"""

SRT = """\
1
00:00:01,000 --> 00:00:02,500
<i>Hello</i> {\\an8}world

2
00:00:03,000 --> 00:00:04,000 X1:0 X2:100
before

after a blank line

3
00:00:05,000 --> 00:00:06,000
2024
"""


def test_webvtt() -> None:
    assert read(VTT).segments == (
        TimedText(1000, 2500, "Fish & chips"),
        TimedText(3_603_000, 3_604_000, "two\nlines"),
    )


def test_subrip() -> None:
    assert read(SRT).segments == (
        TimedText(1000, 2500, "Hello world"),
        TimedText(3000, 4000, "before\n\nafter a blank line"),
        TimedText(5000, 6000, "2024"),
    )


@pytest.mark.parametrize("change", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t])
@pytest.mark.parametrize("text", [VTT, SRT])
def test_line_ends_and_byte_order_marks_do_not_matter(text: str, change: type[str]) -> None:
    assert read(change(text)) == read(text)


def test_word_stamps_time_the_words() -> None:
    captions = read(
        "WEBVTT\n\n00:01.000 --> 00:03.000\n"
        "<c>One</c> <00:01.500><c>two</c> <00:02.000><c>three four</c>\n"
    )
    assert captions.segments == (TimedText(1000, 3000, "One two three four"),)
    assert captions.words == (
        TimedText(1000, 1500, "One"),
        TimedText(1500, 2000, "two"),
        TimedText(2000, 2555, "three"),
        TimedText(2555, 3000, "four"),
    )


def test_without_stamps_words_share_the_time_of_their_cue() -> None:
    words = read("WEBVTT\n\n00:00.000 --> 00:01.000\na bbb cc dddd\n").words
    assert [word.text for word in words] == ["a", "bbb", "cc", "dddd"]
    assert (words[0].start_ms, words[-1].end_ms) == (0, 1000)
    assert all(left.end_ms == right.start_ms for left, right in pairwise(words))
    assert [word.end_ms - word.start_ms for word in words] == [100, 300, 200, 400]


def test_cues_are_put_in_order_of_time() -> None:
    text = "WEBVTT\n\n00:05.000 --> 00:06.000\nlater\n\n00:01.000 --> 00:02.000\nsooner\n"
    assert [segment.text for segment in read(text).segments] == ["sooner", "later"]


def test_the_document_for_pages_counts_seconds() -> None:
    assert read("WEBVTT\n\n00:01.500 --> 00:02.250\nHi\n").as_json() == {
        "segments": [{"start": 1.5, "end": 2.25, "text": "Hi"}],
        "word_segments": [{"start": 1.5, "end": 2.25, "text": "Hi"}],
    }


def test_a_webvtt_file_may_be_empty_of_cues_and_a_cue_of_text() -> None:
    assert read("WEBVTT\n") == CaptionTrack((), ())
    assert read("WEBVTT\n\n00:01.000 --> 00:02.000\n<b></b>\n") == CaptionTrack((), ())


def test_text_that_looks_like_a_tag_but_is_none_stays() -> None:
    assert read("WEBVTT\n\n00:01.000 --> 00:02.000\n1 < 2 &lt;b&gt;\n").segments[0].text == (
        "1 < 2 <b>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: neither WebVTT .* nor SubRip"),
        ("Once upon a time", "line 1: neither WebVTT .* nor SubRip"),
        ("WEBVTTX\n\n00:01.000 --> 00:02.000\nHi", "line 1: expected the number of the first cue"),
        ("WEBVTT\n\n00:01.000 -> 00:02.000\nHi", "line 4: expected times .*, found 'Hi'"),
        ("WEBVTT\n\nstray text", "line 4: expected times"),
        ("WEBVTT\n\n00:01.00 --> 00:02.000\nHi", "line 3: not a pair of times"),
        ("WEBVTT\n\n00:61.000 --> 00:62.000\nHi", "line 3: not a pair of times"),
        ("WEBVTT\n\n\n00:02.000 --> 00:02.000\nHi", "line 4: the cue ends at or before its start"),
        ("1\n00:00:02,000 --> 00:00:01,000\nHi", "line 2: the cue ends at or before its start"),
        ("1\n00:00:02,000 --> \nHi", "line 2: not a pair of times"),
        (
            "WEBVTT\n\n00:01.000 --> 00:02.000\na <00:03.000>b",
            "line 3: the timestamp of a word is outside its cue",
        ),
        (
            "WEBVTT\n\n00:01.000 --> 00:02.000\na <00:01.800>b <00:01.500>c",
            "line 3: the timestamp of a word is outside its cue or before the",
        ),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, message: str) -> None:
    with pytest.raises(UnreadableCaptions, match=message):
        read(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(UnreadableCaptions, match="line 3: not UTF-8 text"):
        read_captions(b"WEBVTT\n\n\xff\xfe")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(UnreadableCaptions, match="has 2097153 bytes; at most 2097152"):
        read_captions(b" " * 2_097_153)
