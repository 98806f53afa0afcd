"""Transcripts as JSON, WebVTT and SubRip, and back from JSON. Pure.

Captions are cut into cues: lines of text that can be read while they are shown.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Final
from unicodedata import east_asian_width

from framekiln.speech.model import Transcript, TranscriptSegment, Word, join_texts

LINE_COLUMNS: Final = 42
LINES: Final = 2

_MAX_CUE_MS: Final = 7000
_MIN_CUE_MS: Final = 700
_PAUSE_MS: Final = 1000
_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "\uff01", "\uff1f")


@dataclass(frozen=True)
class Cue:
    """One cue, as lines of words; cues never overlap."""

    start_ms: int
    end_ms: int
    lines: tuple[tuple[Word, ...], ...]
    language: str | None

    def texts(self) -> list[str]:
        """Return the text of each line."""
        return [join_texts([word.text for word in line], self.language) for line in self.lines]


def make_cues(transcript: Transcript) -> list[Cue]:
    """Return cues of at most two lines and seven seconds, in order of time."""
    cues: list[Cue] = []
    before_ms = 0
    for segment in transcript.segments:
        for words in _split(segment.words, transcript.language):
            start_ms = max(words[0].start_ms, before_ms)
            end_ms = max(words[-1].end_ms, start_ms + 1)
            lines = tuple(_wrap(words, transcript.language))
            cues.append(Cue(start_ms, end_ms, lines, transcript.language))
            before_ms = end_ms
    return list(_long_enough(cues))


def columns(text: str) -> int:
    """Return the width of a text in columns; ideographs take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _split(words: tuple[Word, ...], language: str | None) -> Iterator[list[Word]]:
    cue: list[Word] = []
    for word in words:
        if cue and (_is_full([*cue, word], language) or _ends(cue, word, language)):
            yield cue
            cue = []
        cue.append(word)
    if cue:
        yield cue


def _is_full(words: list[Word], language: str | None) -> bool:
    if words[-1].end_ms - words[0].start_ms > _MAX_CUE_MS:
        return True
    lines = list(_wrap(words, language))
    return len(lines) > LINES


def _ends(cue: list[Word], following: Word, language: str | None) -> bool:
    """Return whether a cue should end here: a pause, or a sentence that fills a line."""
    if following.start_ms - cue[-1].end_ms >= _PAUSE_MS:
        return True
    return cue[-1].text.endswith(_SENTENCE_ENDS) and _width(cue, language) >= LINE_COLUMNS // 2


def _width(words: list[Word], language: str | None) -> int:
    return columns(join_texts([word.text for word in words], language))


def _wrap(words: list[Word], language: str | None) -> Iterator[tuple[Word, ...]]:
    """Yield lines of about equal length; only a longer word makes a longer line."""
    whole = _width(words, language)
    goal = LINE_COLUMNS if whole > LINES * LINE_COLUMNS else -(-whole // -(-whole // LINE_COLUMNS))
    line: list[Word] = []
    for word in words:
        width = _width([*line, word], language)
        if line and (width > LINE_COLUMNS or _width(line, language) >= goal):
            yield tuple(line)
            line = []
        line.append(word)
    yield tuple(line)


def _long_enough(cues: list[Cue]) -> Iterator[Cue]:
    """Extend short cues a little, up to the start of the next."""
    for place, cue in enumerate(cues):
        wanted_ms = max(cue.end_ms, cue.start_ms + _MIN_CUE_MS)
        following = cues[place + 1 : place + 2]
        yield replace(cue, end_ms=min([wanted_ms, *(f.start_ms for f in following)]))


def to_document(transcript: Transcript) -> dict[str, Any]:
    """Return the whole transcript as JSON, times in milliseconds."""
    return {
        "language": transcript.language,
        "engine": transcript.engine,
        "warnings": list(transcript.warnings),
        "segments": [_segment_document(segment) for segment in transcript.segments],
    }


def from_document(document: dict[str, Any]) -> Transcript:
    """Parse what `to_document` returned."""
    segments = (
        TranscriptSegment(
            start_ms=segment["start_ms"],
            end_ms=segment["end_ms"],
            text=segment["text"],
            words=tuple(Word(**word) for word in segment["words"]),
        )
        for segment in document["segments"]
    )
    return Transcript(
        document["language"],
        tuple(segments),
        # Older documents lack the field.
        engine=document.get("engine"),
        warnings=tuple(document.get("warnings", ())),
    )


def to_page_captions(transcript: Transcript) -> dict[str, Any]:
    """Return the captions that pages read: lists of segments and words, times in seconds."""
    return {
        "segments": [_in_seconds(segment) for segment in transcript.segments],
        "word_segments": [_in_seconds(word) for word in transcript.words],
    }


def to_json(transcript: Transcript) -> str:
    """Return the document as text."""
    return json.dumps(to_document(transcript), ensure_ascii=False, indent=1) + "\n"


def to_vtt(transcript: Transcript, *, word_times: bool = False) -> str:
    """Return a WebVTT file; with `word_times`, each word except a cue's first has a timestamp."""
    blocks = ["WEBVTT"]
    for cue in make_cues(transcript):
        times = f"{_clock(cue.start_ms, '.')} --> {_clock(cue.end_ms, '.')}"
        lines = _stamped(cue) if word_times else [escape(t, quote=False) for t in cue.texts()]
        blocks.append("\n".join([times, *lines]))
    return "\n\n".join(blocks) + "\n"


def to_srt(transcript: Transcript) -> str:
    """Return a SubRip file."""
    blocks = []
    for number, cue in enumerate(make_cues(transcript), start=1):
        times = f"{_clock(cue.start_ms, ',')} --> {_clock(cue.end_ms, ',')}"
        # SubRip has no escapes, and an arrow in the text would be parsed as times.
        lines = [text.replace("-->", "->") for text in cue.texts()]
        blocks.append("\n".join([str(number), times, *lines]) + "\n")
    return "\n".join(blocks)


def _segment_document(segment: TranscriptSegment) -> dict[str, Any]:
    return {
        "start_ms": segment.start_ms,
        "end_ms": segment.end_ms,
        "text": segment.text,
        "words": [
            {
                "text": word.text,
                "start_ms": word.start_ms,
                "end_ms": word.end_ms,
                "probability": round(word.probability, 3),
            }
            for word in segment.words
        ],
    }


def _in_seconds(spoken: TranscriptSegment | Word) -> dict[str, Any]:
    return {
        "start": spoken.start_ms / 1000,
        "end": spoken.end_ms / 1000,
        "text": spoken.text,
    }


def _stamped(cue: Cue) -> list[str]:
    """Return the lines of a cue with the time of each word before it."""
    lines = []
    latest_ms = cue.start_ms
    for text, line in zip(cue.texts(), cue.lines, strict=True):
        rest, stamped = text, ""
        for word in line:
            before, rest = rest.split(word.text, 1)
            stamped += escape(before, quote=False)
            if word.start_ms > latest_ms and word.start_ms < cue.end_ms:
                latest_ms = word.start_ms
                stamped += f"<{_clock(latest_ms, '.')}>"
            stamped += escape(word.text, quote=False)
        lines.append(stamped)
    return lines


def _clock(ms: int, point: str) -> str:
    seconds, ms = divmod(ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{point}{ms:03}"
