"""Review tasks on the service: see what waits for a person, and decide."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from framekiln.client.connection import Connection
from framekiln.client.pages import items
from framekiln.client.pipeline_records import RemoteReview

_REVIEWS: Final = "/api/v1/pipeline-reviews"


class RemoteReviews:
    """The review tasks of an organization. The same decision twice is harmless."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, review_id: str) -> RemoteReview:
        """Return a task and what was decided."""
        return RemoteReview.of(self._connection.ask_json("GET", f"{_REVIEWS}/{review_id}"))

    def list(
        self, *, status: str | None = None, run_id: str | None = None
    ) -> Iterator[RemoteReview]:
        """Yield tasks, newest first."""
        found = items(self._connection, _REVIEWS, "reviews", status=status, run_id=run_id)
        return map(RemoteReview.of, found)

    def approve(self, review_id: str, patch: Mapping[str, Any] | None = None) -> RemoteReview:
        """Let a run go on; `patch` has corrected `annotations`, and `reviewed_kinds`."""
        body = {} if patch is None else {"metadata_patch": patch}
        path = f"{_REVIEWS}/{review_id}/approve"
        return RemoteReview.of(self._connection.ask_json("POST", path, json=body))

    def reject(self, review_id: str, reason: str | None = None) -> RemoteReview:
        """Let a run end here."""
        body = {} if reason is None else {"reason": reason}
        path = f"{_REVIEWS}/{review_id}/reject"
        return RemoteReview.of(self._connection.ask_json("POST", path, json=body))
