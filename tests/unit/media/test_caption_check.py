"""Captions are counted; an error names its place in the file."""

import json
from contextlib import suppress

import pytest

from framekiln.media.caption_check import CaptionFacts, check_captions
from framekiln.media.errors import UnreadableCaptions

VTT = "WEBVTT\n\n00:01.000 --> 00:02.000\none\n\n00:03.000 --> 00:04.000\ntwo\n"
SRT = "1\n00:00:01,000 --> 00:00:02,000\none\n"
JSON = {
    "segments": [{"start": 0, "end": 1.5, "text": "a b"}, {"start": 2, "end": 3, "text": "c"}],
    "word_segments": [{"start": 0, "end": 0.5, "text": "a"}],
}


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (VTT, CaptionFacts("text/vtt", 2)),
        ("\ufeff" + VTT.replace("\n", "\r\n"), CaptionFacts("text/vtt", 2)),
        ("WEBVTT\n", CaptionFacts("text/vtt", 0)),
        (SRT, CaptionFacts("application/x-subrip", 1)),
        (json.dumps(JSON), CaptionFacts("application/json", 2)),
        ("\ufeff" + json.dumps(JSON), CaptionFacts("application/json", 2)),
        (json.dumps(JSON["segments"]), CaptionFacts("application/json", 2)),
        (
            json.dumps({"word_segments": JSON["word_segments"]}),
            CaptionFacts("application/json", 1),
        ),
        ('{"segments": [{"text": "not placed"}]}', CaptionFacts("application/json", 1)),
    ],
)
def test_cues_are_counted(text: str, facts: CaptionFacts) -> None:
    assert check_captions(text.encode()) == facts


def word(**fields: object) -> str:
    return json.dumps({"segments": [{"start": 0, "end": 1, "text": "a"}, fields]})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"just text", "line 1: neither WebVTT"),
        (b"\x89PNG\r\n\x1a\n", "line 1: neither WebVTT"),
        (VTT.replace("00:03.000", "00:05.000").encode(), "line 6: the cue ends"),
        (SRT.encode().replace(b"one", b"\xff"), "line 1: neither"),
        (VTT.encode("utf-16"), "line 1: not UTF-8"),
        (b'{"segments": [\n}', "line 2: not JSON"),
        (b'{"segments": []\xff}', "line 1"),
        (b'{"other": []}', 'neither "segments" nor'),
        (b'{"segments": 3}', "segments: expected a list"),
        (b"[[]]", "line 1"),
        (b"[" * 100_000, "line 1"),
        (b'{"a":' + b"[" * 100_000, "nested too deep"),
        (word(start=2, end=1, text="b").encode(), r"segments\[1\]: it ends \(1\) before"),
        (word(start="x", end=1, text="b").encode(), r"segments\[1\]: start and end must be"),
        (word(start=0, end=10**400, text="b").encode(), "must be numbers"),
        (b'{"segments": [{"start": 0, "end": NaN, "text": "a"}]}', "must be numbers"),
        (word(start=0, end=True, text="b").encode(), "must be numbers"),
        (word(start=0, end=1, text=4).encode(), r"segments\[1\]\.text"),
        (word(start=0, end=1, words=[3]).encode(), r"segments\[1\]\.words\[0\]"),
    ],
)
def test_invalid_captions_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableCaptions, match=message):
        check_captions(data)


def test_a_file_may_not_be_too_long() -> None:
    with pytest.raises(UnreadableCaptions, match="at most 2097152"):
        check_captions(b'{"segments": []}' + b" " * 2_097_152)
    with pytest.raises(UnreadableCaptions, match="at most 2097152"):
        check_captions(VTT.encode() + b"\n" * 2_097_152)


@pytest.mark.fuzz_find("caption_file")
@pytest.mark.parametrize("depth", [*range(440, 500, 5), 3000])
def test_words_nested_in_words_are_accepted_or_refused(depth: int) -> None:
    start, end = '{"start": 0, "end": 1, "text": "a", "words": [', "]}"
    data = f'{{"segments": [{start * depth}{end * depth}]}}'
    with suppress(UnreadableCaptions):
        check_captions(data.encode())
