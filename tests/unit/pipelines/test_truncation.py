"""A transcript that is too large keeps its segments, as far as they fit, and drops all words."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    MAX_OUTPUT_BYTES,
    Annotation,
    StepOutput,
)
from framekiln.pipelines.outputs.validation import check_output
from framekiln.pipelines.steps.transcribe import fit_transcript

METADATA: dict[str, Any] = {"word_count": 7}


def spoken(kind: str, start_ms: int, text: str = "so") -> Annotation:
    return Annotation(kind=kind, start_ms=start_ms, end_ms=start_ms + 100, text=text)


def segments(count: int, text: str = "so") -> list[Annotation]:
    return [spoken("speech.segment", 1000 * number, text) for number in range(count)]


def words(count: int) -> list[Annotation]:
    return [spoken("speech.word", 100 * number) for number in range(count)]


def kinds_of(output: StepOutput) -> list[str]:
    return sorted({each.kind for each in output.annotations})


@pytest.mark.spec("2.11")
def test_a_short_transcript_is_kept_whole() -> None:
    output = fit_transcript(METADATA, segments=reversed(segments(2)), words=words(5))
    assert output.metadata == {"word_count": 7, "truncated": False}
    assert output.annotations == (*segments(2), *words(5))


@pytest.mark.spec("2.11")
def test_words_are_kept_only_if_all_fit() -> None:
    full = fit_transcript(METADATA, segments=segments(100), words=words(MAX_ANNOTATIONS - 100))
    assert not full.metadata["truncated"]
    output = fit_transcript(METADATA, segments=segments(100), words=words(MAX_ANNOTATIONS - 99))
    assert output.metadata["truncated"]
    assert output.annotations == tuple(segments(100))


@pytest.mark.spec("2.11")
def test_too_many_segments_are_cut_in_time_order() -> None:
    many = segments(MAX_ANNOTATIONS + 5)
    output = fit_transcript(METADATA, segments=reversed(many), words=[])
    assert output.metadata["truncated"]
    assert output.annotations == tuple(many[:MAX_ANNOTATIONS])


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 60), st.integers(5_000, 60_000), st.integers(0, 3))
def test_as_many_segments_are_kept_as_fit(count: int, length: int, word_count: int) -> None:
    many = segments(count, "é" * (length // 2))
    output = fit_transcript(METADATA, segments=many, words=words(word_count))
    kept = [each for each in output.annotations if each.kind == "speech.segment"]
    assert isinstance(check_output(output.to_json()), StepOutput)
    assert kept == many[: len(kept)]
    left_out = len(output.annotations) < count + word_count
    assert output.metadata["truncated"] is left_out
    if len(kept) < count:
        assert kinds_of(output) in ([], ["speech.segment"])
        more = StepOutput(output.metadata, tuple(many[: len(kept) + 1]))
        assert more.size_bytes > MAX_OUTPUT_BYTES


def test_the_last_byte_is_counted() -> None:
    small = segments(3)
    used = StepOutput({**METADATA, "truncated": False}, tuple(small)).size_bytes
    text = "so" + "x" * (MAX_OUTPUT_BYTES - used)
    exact = [*small[:2], spoken("speech.segment", 2000, text)]
    output = fit_transcript(METADATA, segments=exact, words=[])
    assert output.size_bytes == MAX_OUTPUT_BYTES
    assert len(output.annotations) == 3
    over = [*small[:2], spoken("speech.segment", 2000, text + "xx")]
    assert len(fit_transcript(METADATA, segments=over, words=[]).annotations) == 2


def test_a_segment_larger_than_an_output_leaves_nothing() -> None:
    output = fit_transcript(METADATA, segments=segments(2, "x" * MAX_OUTPUT_BYTES), words=[])
    assert output == StepOutput({"word_count": 7, "truncated": True})
