"""What can be said of a file without a database."""

from uuid import UUID

import pytest

from framekiln.files import model
from framekiln.files.model import CHANGES, FileProgress, FileStatus, normalize_md5, states_before
from framekiln.kit.ids import FileId, OrganizationId

S = FileStatus
OWNER = OrganizationId(UUID(int=1))
FILE = FileId(UUID(int=2))


@pytest.mark.spec("3.2")
def test_statuses_change_as_specified() -> None:
    named = {
        (S.CREATED, S.UPLOADING),
        (S.UPLOADING, S.PROCESSING),
        (S.PROCESSING, S.READY),
        (S.PROCESSING, S.FAILED),
        (S.CREATED, S.READY),
        (S.UPLOADING, S.READY),
        (S.RECEIVING, S.PROCESSING),
    }
    assert named <= {(a, b) for a, after in CHANGES.items() for b in after}
    # An index makes any file ready; nothing that has ended goes back.
    assert set(states_before(S.READY)) == {str(status) for status in S}
    assert CHANGES[S.READY] == CHANGES[S.FAILED] == {S.READY}


def test_md5_values_are_compared_in_any_spelling() -> None:
    assert (
        normalize_md5("D41D8CD9-8F00-B204-E980-0998ECF8427E") == "d41d8cd98f00b204e9800998ecf8427e"
    )


def test_progress_is_one_only_when_complete() -> None:
    assert FileProgress(S.PROCESSING, 1000, None).fraction == 0.99
    assert FileProgress(S.READY, 0, None).fraction == 1.0
    assert FileProgress(S.PROCESSING, 250, None).fraction == 0.25


def test_all_blobs_of_a_file_are_below_its_prefix() -> None:
    keys = [
        model.source_key(OWNER, FILE),
        model.track_key(OWNER, FILE, -1),
        model.index_key(OWNER, FILE),
        model.thumbnails_key(OWNER, FILE),
        model.waveform_key(OWNER, FILE),
        model.parts_prefix(OWNER, FILE, 0),
    ]
    prefix = f"org/{OWNER}/files/{FILE}/"
    assert model.file_prefix(OWNER, FILE) + "/" == prefix
    assert len(set(keys)) == len(keys)
    assert all(key.startswith(prefix) for key in keys)
