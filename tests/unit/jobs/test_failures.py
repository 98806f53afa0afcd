"""What the owner of a render or file learns about a failure."""

from structlog.testing import capture_logs

from framekiln.jobs.failures import failure_of
from framekiln.storage.errors import StorageUnavailable


def test_the_failure_of_an_outage_names_no_keys_and_hosts() -> None:
    error = StorageUnavailable("Could not read 'org/1/render' at http://10.0.0.7:9000", key="org/1")
    with capture_logs() as lines:
        failure = failure_of(error)
    assert failure.code == "storage_unavailable"
    assert "org/1" not in failure.message
    assert "10.0.0.7" not in failure.message
    assert [line["reason"] for line in lines] == [error.message]
