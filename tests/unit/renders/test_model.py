"""What can be said of a render without a database."""

import pytest

from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.renders.model import CHANGES, Failure, Progress, RenderStatus, before, source_key

S = RenderStatus


@pytest.mark.parametrize("after", S)
def test_before_is_the_table_read_backwards(after: RenderStatus) -> None:
    assert before(after) == [str(state) for state in S if after in CHANGES[state]]


@pytest.mark.parametrize(
    ("status", "done", "count", "fraction"),
    [
        (S.CREATED, 0, 0, 0.0),
        (S.RENDERING, 0, 30, 0.0),
        (S.RENDERING, 15, 30, 0.5),
        (S.RENDERING, 30, 30, 0.99),
        (S.RECOVERING, 40, 30, 0.99),
        (S.COMPLETE, 0, 0, 1.0),
        (S.FAILED, 3, 30, 0.1),
    ],
)
def test_progress_is_whole_only_when_complete(
    status: RenderStatus, done: int, count: int, fraction: float
) -> None:
    assert Progress(status, done, count, None).fraction == pytest.approx(fraction)


def test_a_failure_keeps_its_words() -> None:
    progress = Progress(S.FAILED, 0, 0, Failure("page_threw", "no"))
    assert progress.failure == Failure("page_threw", "no")


def test_blobs_of_a_render_are_under_its_organization() -> None:
    organization, render = OrganizationId(new_uuid()), RenderId(new_uuid())
    assert source_key(organization, render) == (
        f"org/{organization}/renders/{render}/composition.html"
    )
