"""The byte ranges of a track for a range of time."""

from typing import Any

from framekiln.pipelines.execution.step_media import MediaRange, Spans, spans_of

INDEX: dict[str, Any] = {
    "-1": {"track": -1, "type": "video", "timescale": 1, "segments": []},
    "2": {
        "track": 2,
        "type": "audio",
        "timescale": 1000,
        "initSegment": {"offset": 0, "size": 10},
        "segments": [{"cts": 0, "duration": 9000, "offset": 10, "size": 90}],
    },
    "1": {
        "track": 1,
        "type": "video",
        "timescale": 30_000,
        "initSegment": {"offset": 0, "size": 100},
        "segments": [
            {"cts": 0, "duration": 60_060, "offset": 100, "size": 50},
            {"cts": 60_060, "duration": 60_060, "offset": 150, "size": 50},
            {"cts": 120_120, "duration": 60_060, "offset": 210, "size": 50},
        ],
    },
}


def test_adjacent_fragments_are_read_at_once() -> None:
    assert spans_of(INDEX, MediaRange("video", 0, 2002)) == Spans(1, [(0, 150)])
    assert spans_of(INDEX, MediaRange("video", 2002, 9000)) == Spans(
        1, [(0, 100), (150, 200), (210, 260)]
    )
    assert spans_of(INDEX, MediaRange("audio", 500, 600)) == Spans(2, [(0, 100)])


def test_a_span_that_starts_before_a_fragment_includes_the_previous() -> None:
    assert spans_of(INDEX, MediaRange("video", 2001, 2100)) == Spans(1, [(0, 200)])


def test_a_span_without_fragments_is_none() -> None:
    assert spans_of(INDEX, MediaRange("video", 7000, 8000)) is None
    assert spans_of({"2": INDEX["2"]}, MediaRange("video", 0, 1000)) is None
