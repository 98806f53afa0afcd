"""Pipelines on the service, with their versions, endpoints, runs, batches and reviews."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from framekiln.client.connection import Json, ServiceConnection, iter_items, json_object
from framekiln.client.errors import NoSuchPipeline
from framekiln.client.model import (
    RemoteBatch,
    RemoteEndpoint,
    RemotePipeline,
    RemoteReview,
    RemoteRun,
    RemoteVersion,
)
from framekiln.kit.ids import new_uuid, parse_uuid

_PIPELINES: Final = "/api/v1/pipelines"
_MAX_PAGE_ITEMS: Final = 100


class RemotePipelines:
    """The pipelines of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(self, name: str, definition: Mapping[str, Any]) -> RemotePipeline:
        """Create a pipeline with its first version; see its `warnings`."""
        # Without retries: a second attempt would find its own name taken.
        body = {"name": name, "definition": definition}
        answer = self._connection.request_once("POST", _PIPELINES, json=body)
        return RemotePipeline.of(json_object(answer))

    def get(self, pipeline_id: str) -> RemotePipeline:
        """Return a pipeline; `raw` has its latest version."""
        return RemotePipeline.of(
            self._connection.request_json("GET", f"{_PIPELINES}/{pipeline_id}")
        )

    def list(self, *, include_archived: bool = False) -> Iterator[RemotePipeline]:
        """Yield pipelines, newest first."""
        # Omitted if false: a flag that is off is not part of the query.
        archived = "true" if include_archived else None
        query = {"limit": _MAX_PAGE_ITEMS, "include_archived": archived}
        return map(
            RemotePipeline.of, iter_items(self._connection, _PIPELINES, "pipelines", **query)
        )

    def find(self, name_or_id: str) -> RemotePipeline:
        """Return the pipeline with this id, or the active one with this name."""
        if parse_uuid(name_or_id) is not None:
            return self.get(name_or_id)
        for pipeline in self.list():
            if pipeline.name == name_or_id:
                return pipeline
        raise NoSuchPipeline(
            f"there is no pipeline {name_or_id!r}: framekiln pipelines list shows them"
        )

    def archive(self, pipeline_id: str) -> RemotePipeline:
        """Archive a pipeline: it accepts no new versions and runs. Idempotent."""
        path = f"{_PIPELINES}/{pipeline_id}/archive"
        return RemotePipeline.of(self._connection.request_json("POST", path))

    def create_version(
        self, pipeline_id: str, definition: Mapping[str, Any]
    ) -> tuple[RemoteVersion, bool]:
        """Return the version with this definition, and whether it is new.

        See its `warnings`.
        """
        raw = self._connection.request_json(
            "POST", f"{_PIPELINES}/{pipeline_id}/versions", json={"definition": definition}
        )
        warnings = raw.get("warnings", [])
        return RemoteVersion.of({**raw["version"], "warnings": warnings}), raw["created"]

    def versions(self, pipeline_id: str) -> Iterator[RemoteVersion]:
        """Yield the versions of a pipeline, newest first."""
        path = f"{_PIPELINES}/{pipeline_id}/versions"
        return map(RemoteVersion.of, iter_items(self._connection, path, "versions"))

    def version(self, pipeline_id: str, number: int) -> RemoteVersion:
        """Return one version."""
        path = f"{_PIPELINES}/{pipeline_id}/versions/{number}"
        return RemoteVersion.of(self._connection.request_json("GET", path))


_RUNS: Final = "/api/v1/pipeline-runs"
_FIRST_PAUSE_S: Final = 0.25
_MAX_PAUSE_S: Final = 2.0

OnRun = Callable[[RemoteRun], None]
"""Called with a run each time it was fetched."""


class RemoteRuns:
    """The runs of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(
        self, pipeline_id: str, file_id: str, *, idempotency_key: str | None = None, **more: Any
    ) -> tuple[RemoteRun, bool]:
        """Start a run, and return it and whether it is new; `more` are `version`, `external_id`.

        With a key of the caller, the same call again returns the same run.
        """
        body = {"pipeline_id": pipeline_id, "file_id": file_id, **more}
        raw = self._connection.request_json(
            "POST", _RUNS, json=body, headers=idempotency_headers(idempotency_key)
        )
        return RemoteRun.of(raw["run"]), raw["created"]

    def get(self, run_id: str) -> RemoteRun:
        """Return a run with its steps."""
        return RemoteRun.of(self._connection.request_json("GET", f"{_RUNS}/{run_id}"))

    def list(self, **query: Any) -> Iterator[RemoteRun]:
        """Yield runs, newest first; filter by `status`, `pipeline_id`, `file_id`, `batch_id`."""
        return map(RemoteRun.of, iter_items(self._connection, _RUNS, "runs", **query))

    def cancel(self, run_id: str) -> RemoteRun:
        """Cancel a run. Idempotent."""
        return RemoteRun.of(self._connection.request_json("POST", f"{_RUNS}/{run_id}/cancel"))

    def retry(self, run_id: str) -> RemoteRun:
        """Continue a run that failed or was cancelled."""
        # Without retries: a run that was continued already cannot be continued again.
        return RemoteRun.of(
            json_object(self._connection.request_once("POST", f"{_RUNS}/{run_id}/retry"))
        )

    def wait(self, run_id: str, on_run: OnRun = lambda _: None) -> RemoteRun:
        """Return a run when it has ended, with any status."""
        pause_s = _FIRST_PAUSE_S
        before = None
        while True:
            run = self.get(run_id)
            on_run(run)
            if run.has_ended:
                return run
            # After a change, more changes are likely soon.
            pause_s = _FIRST_PAUSE_S if run != before else min(1.5 * pause_s, _MAX_PAUSE_S)
            before = run
            self._connection.sleep(pause_s)

    def outputs(self, run_id: str, namespace: str) -> Iterator[Json]:
        """Yield `window` and `output` of all that a run wrote to a namespace, in order."""
        return iter_items(self._connection, f"{_RUNS}/{run_id}/outputs/{namespace}", "outputs")


def idempotency_headers(idempotency_key: str | None) -> dict[str, str]:
    """Return the header that makes a request idempotent."""
    return {"Idempotency-Key": idempotency_key or str(new_uuid())}


_BATCHES: Final = "/api/v1/pipeline-batches"


class RemoteBatches:
    """The batches of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(
        self,
        pipeline_id: str,
        file_ids: Iterable[str],
        *,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> tuple[RemoteBatch, bool]:
        """Run a pipeline on files; return the batch and whether it is new.

        `more` are `max_in_flight` and `version`.
        """
        runs = [{"file_id": file_id} for file_id in file_ids]
        body = {"pipeline_id": pipeline_id, "runs": runs, **more}
        key = idempotency_headers(idempotency_key)
        raw = self._connection.request_json("POST", _BATCHES, json=body, headers=key)
        return RemoteBatch.of(raw["batch"]), raw["created"]

    def get(self, batch_id: str) -> RemoteBatch:
        """Return a batch with the states of its runs."""
        return RemoteBatch.of(self._connection.request_json("GET", f"{_BATCHES}/{batch_id}"))

    def list(self) -> Iterator[RemoteBatch]:
        """Yield batches, newest first."""
        return map(RemoteBatch.of, iter_items(self._connection, _BATCHES, "batches"))


_REVIEWS: Final = "/api/v1/pipeline-reviews"


class RemoteReviews:
    """The review tasks of an organization. Repeating a decision has no effect."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def get(self, review_id: str) -> RemoteReview:
        """Return a task and its decision."""
        return RemoteReview.of(self._connection.request_json("GET", f"{_REVIEWS}/{review_id}"))

    def list(
        self, *, status: str | None = None, run_id: str | None = None
    ) -> Iterator[RemoteReview]:
        """Yield tasks, newest first."""
        found = iter_items(self._connection, _REVIEWS, "reviews", status=status, run_id=run_id)
        return map(RemoteReview.of, found)

    def approve(self, review_id: str, patch: Mapping[str, Any] | None = None) -> RemoteReview:
        """Let a run continue; `patch` has corrected `annotations`, and `reviewed_kinds`."""
        body = {} if patch is None else {"metadata_patch": patch}
        path = f"{_REVIEWS}/{review_id}/approve"
        return RemoteReview.of(self._connection.request_json("POST", path, json=body))

    def reject(self, review_id: str, reason: str | None = None) -> RemoteReview:
        """End a run."""
        body = {} if reason is None else {"reason": reason}
        path = f"{_REVIEWS}/{review_id}/reject"
        return RemoteReview.of(self._connection.request_json("POST", path, json=body))


_ENDPOINTS: Final = "/api/v1/pipeline-endpoints"


class RemoteEndpoints:
    """The endpoints of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(self, url: str, **settings: Any) -> RemoteEndpoint:
        """Register a service; `settings` are those of POST /api/v1/pipeline-endpoints.

        Only this response has the secret that signs requests to it.
        """
        # Without retries: a second attempt could register it twice.
        body = {"url": url, **settings}
        answer = self._connection.request_once("POST", _ENDPOINTS, json=body)
        return RemoteEndpoint.of(json_object(answer))

    def get(self, endpoint_id: str) -> RemoteEndpoint:
        """Return an endpoint, archived or not."""
        return RemoteEndpoint.of(
            self._connection.request_json("GET", f"{_ENDPOINTS}/{endpoint_id}")
        )

    def list(self, *, include_archived: bool = False) -> Iterator[RemoteEndpoint]:
        """Yield endpoints, newest first."""
        archived = "true" if include_archived else None
        found = iter_items(self._connection, _ENDPOINTS, "endpoints", include_archived=archived)
        return map(RemoteEndpoint.of, found)

    def archive(self, endpoint_id: str) -> RemoteEndpoint:
        """Archive an endpoint: no new requests are sent to it. Idempotent."""
        path = f"{_ENDPOINTS}/{endpoint_id}/archive"
        return RemoteEndpoint.of(self._connection.request_json("POST", path))
