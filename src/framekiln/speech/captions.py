"""Transcripts as JSON, WebVTT and SubRip, and back from JSON. Pure."""

import json
from html import escape
from typing import Any

from framekiln.speech.cues import Cue, make_cues
from framekiln.speech.model import Transcript, TranscriptSegment, Word


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
