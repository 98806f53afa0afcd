"""WebVTT and SubRip become segments and words; what is wrong is named with its line."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.media.captions import (
    CaptionSpans,
    CaptionTrack,
    TimedText,
    caption_bytes,
    read_captions,
)
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


def test_webvtt_is_parsed() -> None:
    assert read(VTT).segments == (
        TimedText(1000, 2500, "Fish & chips"),
        TimedText(3_603_000, 3_604_000, "two\nlines"),
    )


def test_subrip_is_parsed() -> None:
    assert read(SRT).segments == (
        TimedText(1000, 2500, "Hello world"),
        TimedText(3000, 4000, "before\n\nafter a blank line"),
        TimedText(5000, 6000, "2024"),
    )


@pytest.mark.parametrize("change", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t])
@pytest.mark.parametrize("text", [VTT, SRT])
def test_any_line_ends_and_byte_order_marks_are_accepted(text: str, change: type[str]) -> None:
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


def test_text_that_only_looks_like_a_tag_is_kept() -> None:
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


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(UnreadableCaptions, match="line 3: not UTF-8 text"):
        read_captions(b"WEBVTT\n\n\xff\xfe")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(UnreadableCaptions, match="has 2097153 bytes; at most 2097152"):
        read_captions(b" " * 2_097_153)


def cue_lines(number: int, start_ms: int, end_ms: int, text: str) -> str:
    times = (f"{ms // 60_000:02}:{ms // 1000 % 60:02}.{ms % 1000:03}" for ms in (start_ms, end_ms))
    return f"{number}\n{' --> '.join(times)}\n{text}\n\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0:00.000-->0:00.001\na\n\n" * 60, "line 153: more than 50 cues are shown at the same"),
        ("0:00.000-->0:00.001\n" + "a " * 300_001, "more than 300,000 words; split it"),
        ("0:00.000-->0:00.001\n&#" + "1" * 5000 + ";", "the number of a character"),
    ],
)
def test_malicious_captions_are_refused(text: str, message: str) -> None:
    with pytest.raises(UnreadableCaptions, match=message):
        read("WEBVTT\n\n" + text)


def test_as_many_cues_as_are_allowed_may_overlap() -> None:
    cues = (cue_lines(n, n, 60_000 + n, f"cue {n}") for n in range(50))
    assert len(read("WEBVTT\n\n" + "".join(cues)).segments) == 50
    # Those that end when others begin do not overlap.
    later = (cue_lines(n, 60_000 + n, 61_000 + n, "later") for n in range(50))
    both = [*(cue_lines(n, 0, 60_000, "sooner") for n in range(50)), *later]
    assert len(read("WEBVTT\n\n" + "".join(both)).segments) == 100


Times = st.integers(0, 40)
Cues = st.lists(st.tuples(Times, st.integers(1, 20), st.sampled_from("abc")), max_size=30)


@given(Cues)
def test_spans_equal_a_brute_force_computation(
    cues: list[tuple[int, int, str]],
) -> None:
    segments = sorted(
        (TimedText(start, start + length, text) for start, length, text in cues),
        key=lambda cue: (cue.start_ms, cue.end_ms),
    )
    edges = sorted({ms for cue in segments for ms in (cue.start_ms, cue.end_ms)})
    plain = [
        "\n".join(cue.text for cue in segments if cue.start_ms <= ms < cue.end_ms) for ms in edges
    ]
    spans = CaptionSpans(segments)
    assert spans.starts_ms == edges
    assert [spans.text(number) for number in range(len(edges))] == plain
    assert list(spans.texts_from(0)) == [text for text in plain if text]
    for ms in range(-1, 62):
        on = "\n".join(cue.text for cue in segments if cue.start_ms <= ms < cue.end_ms)
        assert spans.text(spans.number_at(ms)) == on


def test_long_captions_over_many_short_ones_take_little_memory() -> None:
    # Joined in advance, the texts would be 40 GB.
    long = [TimedText(0, 10**8, "x" * 40_000) for _ in range(25)]
    short = [TimedText(at, at + 1, f"cue {at}") for at in range(20_000)]
    spans = CaptionSpans([*long, *short])
    assert spans.text(spans.number_at(10_000)).endswith("x\ncue 10000")
    assert len(next(spans.texts_from(5))) > 1_000_000


def test_a_file_that_is_too_large_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "captions.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnreadableCaptions, match="at most 2097152 are read"):
        caption_bytes(path)
    path.write_bytes(b"{}")
    assert caption_bytes(path) == b"{}"
