"""The tables of allowed changes."""

import pytest

from framekiln.pipelines.scheduling.run_state import MediaState
from framekiln.pipelines.scheduling.status import (
    RUN_CHANGES,
    STEP_CHANGES,
    RunStatus,
    StepStatus,
)


@pytest.mark.spec("3.3")
def test_terminal_run_statuses_are_known() -> None:
    assert [status.value for status in RunStatus if status.is_terminal] == [
        "succeeded",
        "failed",
        "filtered",
        "cancelled",
    ]


def test_every_status_is_in_its_table() -> None:
    assert set(RUN_CHANGES) == set(RunStatus)
    assert set(STEP_CHANGES) == set(StepStatus)


def test_only_a_retry_leaves_a_terminal_status() -> None:
    for run, run_changes in RUN_CHANGES.items():
        if run.is_terminal:
            assert run_changes == ({RunStatus.PENDING} if run.is_retryable else set())
    for step, changes in STEP_CHANGES.items():
        if step.is_terminal:
            assert changes <= {StepStatus.PENDING}


def test_succeeded_steps_never_change_and_only_work_leads_to_a_review() -> None:
    assert not STEP_CHANGES[StepStatus.SUCCEEDED]
    before = {status for status in StepStatus if StepStatus.WAITING_REVIEW in STEP_CHANGES[status]}
    assert before == {StepStatus.READY, StepStatus.RUNNING}


@pytest.mark.parametrize(
    ("file_status", "media"),
    [
        ("created", MediaState.ARRIVING),
        ("uploading", MediaState.ARRIVING),
        ("receiving", MediaState.ARRIVING),
        ("processing", MediaState.ARRIVING),
        ("ready", MediaState.WHOLE),
        ("failed", MediaState.FAILED),
    ],
)
def test_file_statuses_map_to_media_states(file_status: str, media: MediaState) -> None:
    assert MediaState.of_file(file_status) is media
