"""States, progress and keys of transcriptions."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from framekiln.jobs.failures import Failure
from framekiln.kit.ids import FileId, OrganizationId, TranscriptionId
from framekiln.speech.transcriber import SLICE_MS
from framekiln.transcripts.jobs import join_job, prepare_job, slice_job
from framekiln.transcripts.model import (
    CHANGES,
    WORK_SLICE_MS,
    Transcription,
    TranscriptionProgress,
    TranscriptionStatus,
    samples_key,
    slice_key,
    states_before,
    transcript_key,
)

S = TranscriptionStatus
MADE = Transcription(
    id=TranscriptionId(UUID(int=3)),
    position=1,
    organization_id=OrganizationId(UUID(int=1)),
    api_key_id=None,
    file_id=FileId(UUID(int=2)),
    track_id=2,
    status=S.PENDING,
    asked_language=None,
    language=None,
    work_slice_ms=22_000,
    duration_ms=0,
    samples_key=None,
    transcript_key=None,
    failure=None,
    engine=None,
    warnings=(),
    created_at=datetime(2025, 1, 1, tzinfo=UTC),
    completed_at=None,
    failed_at=None,
)


def test_slice_length_fits_the_recognizer_window() -> None:
    assert WORK_SLICE_MS == SLICE_MS


def test_terminal_states_do_not_change() -> None:
    assert {state for state in S if not CHANGES[state]} == {S.COMPLETE, S.FAILED}
    assert states_before(S.FAILED) == ["created", "pending", "transcribing"]
    assert states_before(S.TRANSCRIBING) == ["pending"]


@pytest.mark.parametrize(
    ("duration_ms", "count"), [(0, 0), (1, 1), (21_999, 1), (22_000, 1), (22_001, 2)]
)
def test_the_last_slice_may_be_short(duration_ms: int, count: int) -> None:
    assert replace(MADE, duration_ms=duration_ms).slice_count == count


@pytest.mark.parametrize(
    ("status", "asked", "language", "wanted", "is_answer"),
    [
        (S.CREATED, None, None, None, True),
        (S.COMPLETE, None, "en", "en", True),
        (S.COMPLETE, None, "en", "de", False),
        (S.PENDING, "de", None, "de", True),
        (S.PENDING, None, None, "de", False),
        (S.FAILED, None, None, None, False),
        (S.FAILED, "de", None, "de", False),
    ],
)
def test_a_repeated_request_reuses_a_matching_transcription(
    status: S, asked: str | None, language: str | None, wanted: str | None, is_answer: bool
) -> None:
    made = replace(MADE, status=status, asked_language=asked, language=language)
    assert made.satisfies(wanted) is is_answer


def test_progress_grows_and_is_one_only_at_the_end() -> None:
    def fraction(status: S, is_prepared: bool, done: int, count: int) -> float:
        failure = Failure("x", "y") if status is S.FAILED else None
        return TranscriptionProgress(status, is_prepared, done, count, failure).fraction

    fractions = [
        fraction(S.CREATED, False, 0, 0),
        fraction(S.PENDING, False, 0, 0),
        fraction(S.PENDING, True, 0, 2),
        fraction(S.TRANSCRIBING, True, 1, 2),
        fraction(S.TRANSCRIBING, True, 2, 2),
        fraction(S.COMPLETE, False, 2, 2),
    ]
    assert fractions == [0, 0, 0.25, 0.5, 0.75, 1.0]


def test_blob_keys_are_below_the_prefix_of_the_file() -> None:
    prefix = f"org/{MADE.organization_id}/files/{MADE.file_id}/transcriptions/{MADE.id}"
    assert transcript_key(MADE) == f"{prefix}/transcript.json"
    assert samples_key(MADE).startswith(f"{prefix}/parts/samples-")
    assert slice_key(MADE, 7).startswith(f"{prefix}/parts/slice-7-")


def test_first_slices_of_all_come_before_later_ones_of_any() -> None:
    assert slice_job(MADE, 0).priority == prepare_job(MADE).priority
    assert slice_job(MADE, 1).priority < slice_job(MADE, 0).priority
    assert join_job(MADE).priority > slice_job(MADE, 0).priority
