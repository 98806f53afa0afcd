"""A transcript as cues: lines of text that can be read while they are shown. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from unicodedata import east_asian_width

from framekiln.speech.model import Transcript, Word, join_texts

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
