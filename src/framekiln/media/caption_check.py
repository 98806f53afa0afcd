"""Checks an uploaded caption file, WebVTT, SubRip or JSON, and counts its cues.

JSON is `{"segments": [...], "word_segments": [...]}` with `start`, `end` and `text`, as pages read
it; times may be seconds or milliseconds. The file is not changed.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from framekiln.kit.media_kind import MediaKind
from framekiln.media.captions import MAX_BYTES, MAX_CUES, read_captions
from framekiln.media.errors import UnreadableCaptions
from framekiln.media.sniff import HEAD_BYTES, sniff

# Thirty years in milliseconds: anything later is a mistake.
_LATEST: Final = 10**12
_WORD_LISTS: Final = ("word_segments", "wordSegments", "words")


@dataclass(frozen=True)
class CaptionFacts:
    """A valid caption file; `cue_count` counts segments, or words if there are no segments."""

    mime_type: str
    cue_count: int


def caption_check_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Return the facts of the caption file at `source`, for `run_confined`."""
    with Path(args["source"]).open("rb") as file:
        return asdict(check_captions(file.read(MAX_BYTES + 1)))


def check_captions(data: bytes) -> CaptionFacts:
    """Return the facts of a caption file, or raise `UnreadableCaptions` with the position."""
    sniffed = sniff(data[:HEAD_BYTES])
    if sniffed.kind is not MediaKind.CAPTION or sniffed.mime_type is None:
        raise UnreadableCaptions(_not_captions(data, sniffed.mime_type))
    if sniffed.mime_type == "application/json":
        count = _count_json(data)
    else:
        count = len(read_captions(data).segments)
    if count > MAX_CUES:
        raise UnreadableCaptions(f"the file has {count:,} cues; at most {MAX_CUES:,} are read")
    return CaptionFacts(sniffed.mime_type, count)


def _not_captions(data: bytes, mime_type: str | None) -> str:
    if not data.strip():
        return "the file is empty"
    found = f" (it looks like {mime_type})" if mime_type else ""
    return f"line 1: neither WebVTT (no WEBVTT header), nor SubRip (no cue), nor JSON{found}"


def _count_json(data: bytes) -> int:
    document = _load(data)
    holder = {"segments": document} if isinstance(document, list) else document
    if not isinstance(holder, dict):
        raise UnreadableCaptions("the JSON is not an object with segments")
    segments = _cues(holder.get("segments"), "segments")
    words = [cue for name in _WORD_LISTS for cue in _cues(holder.get(name), name)]
    if not any(isinstance(holder.get(name), list) for name in ("segments", *_WORD_LISTS)):
        raise UnreadableCaptions('the JSON has neither "segments" nor "word_segments"')
    return len(segments) or len(words)


def _load(data: bytes) -> Any:
    if len(data) > MAX_BYTES:
        raise UnreadableCaptions(f"the file has {len(data)} bytes; at most {MAX_BYTES} are read")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableCaptions(f"line {line}: not UTF-8 text ({error.reason})") from error
    except json.JSONDecodeError as error:
        raise UnreadableCaptions(f"line {error.lineno}: not JSON ({error.msg})") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableCaptions(
            "the JSON is nested too deeply, or has infinite numbers"
        ) from error


def _cues(value: object, where: str, *, may_have_words: bool = True) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UnreadableCaptions(f"{where}: expected a list")
    for number, cue in enumerate(value):
        _check_cue(cue, f"{where}[{number}]", may_have_words=may_have_words)
    return value


def _check_cue(cue: object, where: str, *, may_have_words: bool) -> None:
    if not isinstance(cue, dict):
        raise UnreadableCaptions(f"{where}: expected an object with start, end and text")
    text = cue.get("text", cue.get("word", ""))
    if not isinstance(text, str):
        raise UnreadableCaptions(f"{where}.text: expected text")
    start, end = cue.get("start"), cue.get("end")
    # Transcribers omit the times of words that they could not align.
    if start is None or end is None:
        return
    if not _is_time(start) or not _is_time(end):
        raise UnreadableCaptions(f"{where}: start and end must be numbers from 0")
    if end < start:
        raise UnreadableCaptions(f"{where}: it ends ({end}) before its start ({start})")
    # Words have no words. The parser may accept deeper nesting than a function can follow.
    if may_have_words:
        _cues(cue.get("words"), f"{where}.words", may_have_words=False)


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < _LATEST
