"""Caption files, WebVTT and SubRip, as segments and words with times in milliseconds.

The parser is strict where a mistake would lose or misplace text, and then names the line. Styles of
a cue (settings, tags, regions) are ignored. If a file has no word times, the duration of its cue is
distributed by the length of the words. Text is plain: the renderer escapes it.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.errors import UnreadableCaptions

MAX_BYTES: Final = 2 << 20
MAX_CUES: Final = 100_000
MAX_WORDS: Final = 300_000
MAX_AT_ONCE: Final = 50
"""Cues on the screen at the same time."""

Item = TypeVar("Item")

_ARROW: Final = "-->"
_CLOCK: Final = r"(?:(\d{1,4}):)?([0-5]?\d):([0-5]\d)[.,](\d{3})"
_TIMING: Final = re.compile(rf"^\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?$")
_STAMP: Final = re.compile(rf"<{_CLOCK}>")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>|</>|\{\\[^{}]*\}")
_NOT_CUES: Final = re.compile(r"^(NOTE|STYLE|REGION)(\s|$)")


@dataclass(frozen=True)
class TimedText:
    """A segment or a word."""

    start_ms: int
    end_ms: int
    text: str

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON with times in seconds, as pages expect."""
        return {"start": self.start_ms / 1000, "end": self.end_ms / 1000, "text": self.text}


@dataclass(frozen=True)
class CaptionTrack:
    """The captions, in order of time."""

    segments: tuple[TimedText, ...]
    words: tuple[TimedText, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the captions document that pages read."""
        return {
            "segments": [segment.as_json() for segment in self.segments],
            "word_segments": [word.as_json() for word in self.words],
        }


class CaptionSpans:
    """The times at which the shown captions change, and the text from each of them on.

    Texts are joined when they are asked for: all of them together may be many times as long as the
    file.
    """

    def __init__(self, segments: Sequence[TimedText]) -> None:
        self._segments = segments
        self.starts_ms = sorted({ms for cue in segments for ms in (cue.start_ms, cue.end_ms)})
        self._shown: list[tuple[int, ...]] = []
        # Segments are in order of their start, so each new one is the last of those shown.
        shown: tuple[int, ...] = ()
        begun = 0
        for at_ms in self.starts_ms:
            first = begun
            while begun < len(segments) and segments[begun].start_ms <= at_ms:
                begun += 1
            on = (*shown, *range(first, begun))
            shown = tuple(number for number in on if segments[number].end_ms > at_ms)
            self._shown.append(shown)

    def number_at(self, ms: Fraction | int) -> int:
        """Return the number of the span at an instant; -1 before the first."""
        return bisect_right(self.starts_ms, ms) - 1

    def text(self, number: int) -> str:
        """Return the text of a span; empty where no caption is shown."""
        if number < 0:
            return ""
        return "\n".join(self._segments[each].text for each in self._shown[number])

    def texts_from(self, number: int) -> Iterator[str]:
        """Yield the texts of a span and of those after it, without the empty ones."""
        texts = (self.text(each) for each in range(number, len(self._shown)))
        return (text for text in texts if text)


def caption_bytes(path: Path) -> bytes:
    """Return the content of a caption file of any format; a larger one is not read at all."""
    size_bytes = path.stat().st_size
    if size_bytes > MAX_BYTES:
        raise UnreadableCaptions(f"the file has {size_bytes} bytes; at most {MAX_BYTES} are read")
    return path.read_bytes()


def read_captions(data: bytes) -> CaptionTrack:
    """Return the captions of a WebVTT or SubRip file; its first line decides which it is."""
    lines = _decode(data).splitlines()
    is_vtt = bool(lines) and re.match(r"^WEBVTT(\s|$)", lines[0]) is not None
    found = _vtt_cues(lines) if is_vtt else _srt_cues(lines)
    cues = list(_at_most(found, MAX_CUES, "cues"))
    if not cues and not is_vtt:
        raise UnreadableCaptions(
            "line 1: neither WebVTT (no WEBVTT header) nor SubRip (no cue in the whole file)"
        )
    cues.sort(key=lambda cue: (cue.start_ms, cue.end_ms))
    _check_overlap(cues)
    words = (word for cue in cues for word in cue.words())
    segments = (TimedText(cue.start_ms, cue.end_ms, cue.plain_text) for cue in cues)
    return CaptionTrack(
        segments=tuple(segment for segment in segments if segment.text),
        words=tuple(_at_most(words, MAX_WORDS, "words")),
    )


@dataclass(frozen=True)
class _Cue:
    """One cue as written, with its tags."""

    line: int
    start_ms: int
    end_ms: int
    text: str

    @property
    def plain_text(self) -> str:
        return _plain(_STAMP.sub("", self.text))

    def words(self) -> Iterator[TimedText]:
        """Yield the words, each within the time between the timestamps around it."""
        pieces = _STAMP.split(self.text)
        texts = [_plain(text) for text in pieces[:: _CLOCK_FIELDS + 1]]
        stamps_ms = [
            _clock_ms(pieces[at : at + _CLOCK_FIELDS])
            for at in range(1, len(pieces), _CLOCK_FIELDS + 1)
        ]
        edges_ms = [self.start_ms, *stamps_ms, self.end_ms]
        if edges_ms != sorted(edges_ms):
            raise UnreadableCaptions(
                f"line {self.line}: the timestamp of a word is outside its cue or before the"
                " previous one"
            )
        for text, (start_ms, end_ms) in zip(texts, pairwise(edges_ms), strict=True):
            yield from _distribute_words(text.split(), start_ms, end_ms)


_CLOCK_FIELDS: Final = 4


def _at_most(items: Iterable[Item], most: int, name: str) -> Iterator[Item]:
    for number, item in enumerate(items):
        if number == most:
            raise UnreadableCaptions(
                f"the file has more than {most:,} {name}; split it into several files"
            )
        yield item


def _check_overlap(cues: Sequence[_Cue]) -> None:
    """Refuse a file that shows too many cues at once; a film would be drawn from each of them."""
    ends_ms = sorted(cue.end_ms for cue in cues)
    ended = 0
    for begun, cue in enumerate(cues, 1):
        while ends_ms[ended] <= cue.start_ms:
            ended += 1
        if begun - ended > MAX_AT_ONCE:
            raise UnreadableCaptions(
                f"line {cue.line}: more than {MAX_AT_ONCE} cues are shown at the same time"
            )


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise UnreadableCaptions(f"the file has {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableCaptions(f"line {line}: not UTF-8 text ({error.reason})") from error


def _vtt_cues(lines: list[str]) -> Iterator[_Cue]:
    for first, block in _blocks(lines):
        if first == 0 or _NOT_CUES.match(block[0]):
            continue
        # A cue may have an identifier in the line above its times.
        at = 0 if _ARROW in block[0] else 1
        if at >= len(block) or _ARROW not in block[at]:
            raise UnreadableCaptions(
                f"line {first + at + 1}: expected times such as 00:01.000 --> 00:02.000, found"
                f" {block[min(at, len(block) - 1)][:40]!r}"
            )
        yield _cue(first + at, block[at], block[at + 1 :])


def _srt_cues(lines: list[str]) -> Iterator[_Cue]:
    """Yield cues; a cue may contain blank lines, so only a line of times starts the next one."""
    timings = [at for at, line in enumerate(lines) if _ARROW in line]
    starts = [at - 1 if at and lines[at - 1].strip().isdigit() else at for at in timings]
    if not timings:
        return
    if any(line.strip() for line in lines[: starts[0]]):
        raise UnreadableCaptions(
            f"line 1: expected the number of the first cue, found {lines[0][:40]!r}"
        )
    for at, end in zip(timings, [*starts[1:], len(lines)], strict=True):
        yield _cue(at, lines[at], lines[at + 1 : end])


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of lines between blank ones, with the line number of the first."""
    block: list[str] = []
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            block.append(line)
        elif block:
            yield at - len(block), block
            block = []


def _cue(at: int, timing: str, text: list[str]) -> _Cue:
    check_cancelled()
    found = _TIMING.match(timing)
    if found is None:
        raise UnreadableCaptions(f"line {at + 1}: not a pair of times: {timing.strip()[:60]!r}")
    fields = found.groups()
    start_ms, end_ms = _clock_ms(fields[:_CLOCK_FIELDS]), _clock_ms(fields[_CLOCK_FIELDS:])
    if end_ms <= start_ms:
        raise UnreadableCaptions(f"line {at + 1}: the cue ends at or before its start")
    return _Cue(at + 1, start_ms, end_ms, "\n".join(text).strip())


def _clock_ms(fields: "tuple[str | Any, ...] | list[str | Any]") -> int:
    hours, minutes, seconds, milliseconds = (int(field or 0) for field in fields)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


def _plain(text: str) -> str:
    untagged = _TAG.sub("", text)
    try:
        return unescape(untagged).replace("\xa0", " ").strip()
    except ValueError as error:
        # A character number of thousands of digits.
        raise UnreadableCaptions("the number of a character (&#...;) is too long") from error


def _distribute_words(words: list[str], start_ms: int, end_ms: int) -> Iterator[TimedText]:
    """Distribute a time span over the words by their length."""
    letters, done = sum(map(len, words)), 0
    for word in words:
        begins = start_ms + (end_ms - start_ms) * done // letters
        done += len(word)
        ends = start_ms + (end_ms - start_ms) * done // letters
        yield TimedText(begins, ends, word)
