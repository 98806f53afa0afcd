"""Pipelines on the service, with their versions, endpoints, runs, batches and reviews."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from framekiln.client.errors import NoSuchPipeline
from framekiln.client.links import LinkScope
from framekiln.client.model import (
    RemoteBatch,
    RemoteEndpoint,
    RemoteLink,
    RemotePipeline,
    RemoteReview,
    RemoteRun,
    RemoteVersion,
)
from framekiln.client.operations import (
    Connection_co,
    Items,
    Pause,
    RemotePart,
    Steps,
    listing,
    operation,
)
from framekiln.client.responses import Json
from framekiln.kit.ids import new_uuid, parse_uuid

_PIPELINES: Final = "/api/v1/pipelines"
_MAX_PAGE_ITEMS: Final = 100


class RemotePipelines(RemotePart[Connection_co]):
    """The pipelines of an organization."""

    @operation
    def create(self, name: str, definition: Mapping[str, Any]) -> Steps[RemotePipeline]:
        """Create a pipeline with its first version; see its `warnings`."""
        # Without retries: a second attempt would find its own name taken.
        body = {"name": name, "definition": definition}
        raw = yield from self._read_once("POST", _PIPELINES, json=body)
        return RemotePipeline.of(raw)

    @operation
    def get(self, pipeline_id: str) -> Steps[RemotePipeline]:
        """Return a pipeline; `raw` has its latest version."""
        return RemotePipeline.of((yield from self._read("GET", f"{_PIPELINES}/{pipeline_id}")))

    @listing
    def list(self, *, include_archived: bool = False) -> Items[RemotePipeline]:
        """Yield pipelines, newest first."""
        # Omitted if false: a flag that is off is not part of the query.
        archived = "true" if include_archived else None
        query = {"limit": _MAX_PAGE_ITEMS, "include_archived": archived}
        return self._items(_PIPELINES, "pipelines", RemotePipeline.of, **query)

    @operation
    def find(self, name_or_id: str) -> Steps[RemotePipeline]:
        """Return the pipeline with this id, or the active one with this name."""
        if parse_uuid(name_or_id) is not None:
            return RemotePipeline.of((yield from self._read("GET", f"{_PIPELINES}/{name_or_id}")))
        items, cursor = RemotePipelines.list.items(self), None
        while True:
            page, cursor = yield from items.page(cursor)
            for pipeline in page:
                if pipeline.name == name_or_id:
                    return pipeline
            if cursor is None:
                break
        raise NoSuchPipeline(
            f"there is no pipeline {name_or_id!r}: framekiln pipelines list shows them"
        )

    @operation
    def archive(self, pipeline_id: str) -> Steps[RemotePipeline]:
        """Archive a pipeline: it accepts no new versions and runs. Idempotent."""
        path = f"{_PIPELINES}/{pipeline_id}/archive"
        return RemotePipeline.of((yield from self._read("POST", path)))

    @operation
    def create_version(
        self, pipeline_id: str, definition: Mapping[str, Any]
    ) -> Steps[tuple[RemoteVersion, bool]]:
        """Return the version with this definition, and whether it is new.

        See its `warnings`.
        """
        raw = yield from self._read(
            "POST", f"{_PIPELINES}/{pipeline_id}/versions", json={"definition": definition}
        )
        warnings = raw.get("warnings", [])
        return RemoteVersion.of({**raw["version"], "warnings": warnings}), raw["created"]

    @operation
    def validate(self, definition: Mapping[str, Any]) -> Steps[Json]:
        """Check a definition without storing it: return `valid`, `issues` and `warnings`."""
        return (yield from self._read("POST", f"{_PIPELINES}/validate", json=definition))

    @listing
    def versions(self, pipeline_id: str) -> Items[RemoteVersion]:
        """Yield the versions of a pipeline, newest first."""
        path = f"{_PIPELINES}/{pipeline_id}/versions"
        return self._items(path, "versions", RemoteVersion.of)

    @operation
    def version(self, pipeline_id: str, number: int) -> Steps[RemoteVersion]:
        """Return one version."""
        path = f"{_PIPELINES}/{pipeline_id}/versions/{number}"
        return RemoteVersion.of((yield from self._read("GET", path)))


_RUNS: Final = "/api/v1/pipeline-runs"
_FIRST_PAUSE_S: Final = 0.25
_MAX_PAUSE_S: Final = 2.0

OnRun = Callable[[RemoteRun], None]
"""Called with a run each time it was fetched."""


class RemoteRuns(RemotePart[Connection_co]):
    """The runs of an organization."""

    @operation
    def create(
        self,
        /,
        pipeline_id: str,
        file_id: str,
        *,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Steps[tuple[RemoteRun, bool]]:
        """Start a run, and return it and whether it is new; `more` are `version`, `external_id`.

        With a key of the caller, the same call again returns the same run.
        """
        body = {"pipeline_id": pipeline_id, "file_id": file_id, **more}
        raw = yield from self._read(
            "POST", _RUNS, json=body, headers=idempotency_headers(idempotency_key)
        )
        return RemoteRun.of(raw["run"]), raw["created"]

    @operation
    def get(self, run_id: str) -> Steps[RemoteRun]:
        """Return a run with its steps."""
        return RemoteRun.of((yield from self._read("GET", f"{_RUNS}/{run_id}")))

    @listing
    def list(self, /, **query: Any) -> Items[RemoteRun]:
        """Yield runs, newest first; filter by `status`, `pipeline_id`, `file_id`, `batch_id`."""
        return self._items(_RUNS, "runs", RemoteRun.of, **query)

    @operation
    def attempts(self, run_id: str) -> Steps[tuple[Json, ...]]:
        """Return the attempts of endpoint steps: when each waited, was sent and ended."""
        raw = yield from self._read("GET", f"{_RUNS}/{run_id}/attempts")
        return tuple(raw["attempts"])

    @operation
    def cancel(self, run_id: str) -> Steps[RemoteRun]:
        """Cancel a run. Idempotent."""
        return RemoteRun.of((yield from self._read("POST", f"{_RUNS}/{run_id}/cancel")))

    @operation
    def retry(self, run_id: str) -> Steps[RemoteRun]:
        """Continue a run that failed or was cancelled."""
        # Without retries: a run that was continued already cannot be continued again.
        return RemoteRun.of((yield from self._read_once("POST", f"{_RUNS}/{run_id}/retry")))

    @operation
    def wait(self, run_id: str, on_run: OnRun = lambda _: None) -> Steps[RemoteRun]:
        """Return a run when it has ended, with any status."""
        pause_s = _FIRST_PAUSE_S
        before = None
        while True:
            run = RemoteRun.of((yield from self._read("GET", f"{_RUNS}/{run_id}")))
            on_run(run)
            if run.has_ended:
                return run
            # After a change, more changes are likely soon.
            pause_s = _FIRST_PAUSE_S if run != before else min(1.5 * pause_s, _MAX_PAUSE_S)
            before = run
            yield Pause(pause_s)

    @listing
    def outputs(self, run_id: str, namespace: str) -> Items[Json]:
        """Yield `window` and `output` of all that a run wrote to a namespace, in order."""
        return self._items(f"{_RUNS}/{run_id}/outputs/{namespace}", "outputs", dict)


def idempotency_headers(idempotency_key: str | None) -> dict[str, str]:
    """Return the header that makes a request idempotent."""
    return {"Idempotency-Key": idempotency_key or str(new_uuid())}


_BATCHES: Final = "/api/v1/pipeline-batches"


class RemoteBatches(RemotePart[Connection_co]):
    """The batches of an organization."""

    @operation
    def create(
        self,
        /,
        pipeline_id: str,
        file_ids: Iterable[str],
        *,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Steps[tuple[RemoteBatch, bool]]:
        """Run a pipeline on files; return the batch and whether it is new.

        `more` are `max_in_flight` and `version`.
        """
        runs = [{"file_id": file_id} for file_id in file_ids]
        body = {"pipeline_id": pipeline_id, "runs": runs, **more}
        key = idempotency_headers(idempotency_key)
        raw = yield from self._read("POST", _BATCHES, json=body, headers=key)
        return RemoteBatch.of(raw["batch"]), raw["created"]

    @operation
    def get(self, batch_id: str) -> Steps[RemoteBatch]:
        """Return a batch with the states of its runs."""
        return RemoteBatch.of((yield from self._read("GET", f"{_BATCHES}/{batch_id}")))

    @listing
    def list(self) -> Items[RemoteBatch]:
        """Yield batches, newest first."""
        return self._items(_BATCHES, "batches", RemoteBatch.of)

    @operation
    def cancel(self, batch_id: str) -> Steps[RemoteBatch]:
        """Cancel the runs of a batch that have not ended. Idempotent."""
        return RemoteBatch.of((yield from self._read("POST", f"{_BATCHES}/{batch_id}/cancel")))


_REVIEWS: Final = "/api/v1/pipeline-reviews"


class RemoteReviews(RemotePart[Connection_co]):
    """The review tasks of an organization. Repeating a decision has no effect."""

    @operation
    def get(self, review_id: str) -> Steps[RemoteReview]:
        """Return a task and its decision."""
        return RemoteReview.of((yield from self._read("GET", f"{_REVIEWS}/{review_id}")))

    @listing
    def list(self, *, status: str | None = None, run_id: str | None = None) -> Items[RemoteReview]:
        """Yield tasks, newest first."""
        return self._items(_REVIEWS, "reviews", RemoteReview.of, status=status, run_id=run_id)

    @operation
    def inputs(self, review_id: str) -> Steps[Json]:
        """Return what a person needs to decide: the file and the outputs of earlier steps."""
        return (yield from self._read("GET", f"{_REVIEWS}/{review_id}/inputs"))

    @operation
    def create_link(
        self, review_id: str, *, expires_in_s: int | None = None, scope: LinkScope = "api_key"
    ) -> Steps[RemoteLink]:
        """Make a link to the page of a task, for somebody without an account; for a week."""
        body: Json = {"scope": scope}
        if expires_in_s is not None:
            body["expires_in_s"] = expires_in_s
        # Without retries: a second attempt could make a second link.
        raw = yield from self._read_once("POST", f"{_REVIEWS}/{review_id}/links", json=body)
        return RemoteLink.of(raw)

    @operation
    def approve(
        self, review_id: str, patch: Mapping[str, Any] | None = None
    ) -> Steps[RemoteReview]:
        """Let a run continue; `patch` has corrected `annotations`, and `reviewed_kinds`."""
        body = {} if patch is None else {"metadata_patch": patch}
        path = f"{_REVIEWS}/{review_id}/approve"
        return RemoteReview.of((yield from self._read("POST", path, json=body)))

    @operation
    def reject(self, review_id: str, reason: str | None = None) -> Steps[RemoteReview]:
        """End a run."""
        body = {} if reason is None else {"reason": reason}
        path = f"{_REVIEWS}/{review_id}/reject"
        return RemoteReview.of((yield from self._read("POST", path, json=body)))


_ENDPOINTS: Final = "/api/v1/pipeline-endpoints"


class RemoteEndpoints(RemotePart[Connection_co]):
    """The endpoints of an organization."""

    @operation
    def create(self, /, url: str, **settings: Any) -> Steps[RemoteEndpoint]:
        """Register a service; `settings` are those of POST /api/v1/pipeline-endpoints.

        Only this response has the secret that signs requests to it.
        """
        # Without retries: a second attempt could register it twice.
        body = {"url": url, **settings}
        raw = yield from self._read_once("POST", _ENDPOINTS, json=body)
        return RemoteEndpoint.of(raw)

    @operation
    def get(self, endpoint_id: str) -> Steps[RemoteEndpoint]:
        """Return an endpoint, archived or not."""
        return RemoteEndpoint.of((yield from self._read("GET", f"{_ENDPOINTS}/{endpoint_id}")))

    @listing
    def list(self, *, include_archived: bool = False) -> Items[RemoteEndpoint]:
        """Yield endpoints, newest first."""
        archived = "true" if include_archived else None
        return self._items(_ENDPOINTS, "endpoints", RemoteEndpoint.of, include_archived=archived)

    @operation
    def archive(self, endpoint_id: str) -> Steps[RemoteEndpoint]:
        """Archive an endpoint: no new requests are sent to it. Idempotent."""
        path = f"{_ENDPOINTS}/{endpoint_id}/archive"
        return RemoteEndpoint.of((yield from self._read("POST", path)))
