"""Runs of pipelines on the service: begin them, wait for them, read what they found out."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from framekiln.client.connection import Connection, Json, as_json
from framekiln.client.pages import items
from framekiln.client.pipeline_records import RemoteRun
from framekiln.kit.ids import new_uuid

_RUNS: Final = "/api/v1/pipeline-runs"
_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 2.0

OnRun = Callable[[RemoteRun], None]
"""Gets a run each time it was looked at."""


class RemoteRuns:
    """The runs of an organization."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self, pipeline_id: str, file_id: str, *, idempotency_key: str | None = None, **more: Any
    ) -> tuple[RemoteRun, bool]:
        """Begin a run, and return it and whether it is new; `more` are `version`, `external_id`.

        With a key of the caller's own, the same call again returns the same run.
        """
        body = {"pipeline_id": pipeline_id, "file_id": file_id, **more}
        told = self._connection.ask_json("POST", _RUNS, json=body, headers=key_for(idempotency_key))
        return RemoteRun.of(told["run"]), told["created"]

    def get(self, run_id: str) -> RemoteRun:
        """Return a run with its steps."""
        return RemoteRun.of(self._connection.ask_json("GET", f"{_RUNS}/{run_id}"))

    def list(self, **query: Any) -> Iterator[RemoteRun]:
        """Yield runs, newest first; `status`, `pipeline_id`, `file_id`, `batch_id` choose some."""
        return map(RemoteRun.of, items(self._connection, _RUNS, "runs", **query))

    def cancel(self, run_id: str) -> RemoteRun:
        """Stop a run; twice is harmless."""
        return RemoteRun.of(self._connection.ask_json("POST", f"{_RUNS}/{run_id}/cancel"))

    def retry(self, run_id: str) -> RemoteRun:
        """Begin again where a run failed or was stopped."""
        # Not patiently: once begun again, it cannot be.
        return RemoteRun.of(as_json(self._connection.ask_once("POST", f"{_RUNS}/{run_id}/retry")))

    def wait(self, run_id: str, on_run: OnRun = lambda _: None) -> RemoteRun:
        """Return a run when it has ended, in whichever way."""
        pause_s = _FIRST_PAUSE_S
        before = None
        while True:
            run = self.get(run_id)
            on_run(run)
            if run.has_ended:
                return run
            # Where something happens, more will soon.
            pause_s = _FIRST_PAUSE_S if run != before else min(1.5 * pause_s, _LONGEST_PAUSE_S)
            before = run
            self._connection.pause(pause_s)

    def outputs(self, run_id: str, namespace: str) -> Iterator[Json]:
        """Yield `window` and `output` of all that a run wrote to a namespace, in order."""
        return items(self._connection, f"{_RUNS}/{run_id}/outputs/{namespace}", "outputs")


def key_for(idempotency_key: str | None) -> dict[str, str]:
    """Return the header by which a request may be sent twice and is done once."""
    return {"Idempotency-Key": idempotency_key or str(new_uuid())}
