"""Batches on the service: one pipeline over many files."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from framekiln.client.connection import Connection
from framekiln.client.pages import items
from framekiln.client.pipeline_records import RemoteBatch
from framekiln.client.runs import key_for

_BATCHES: Final = "/api/v1/pipeline-batches"


class RemoteBatches:
    """The batches of an organization."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(
        self,
        pipeline_id: str,
        file_ids: Iterable[str],
        *,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> tuple[RemoteBatch, bool]:
        """Run a pipeline over files; return the batch and whether it is new.

        `more` are `max_in_flight` and `version`.
        """
        runs = [{"file_id": file_id} for file_id in file_ids]
        body = {"pipeline_id": pipeline_id, "runs": runs, **more}
        key = key_for(idempotency_key)
        told = self._connection.ask_json("POST", _BATCHES, json=body, headers=key)
        return RemoteBatch.of(told["batch"]), told["created"]

    def get(self, batch_id: str) -> RemoteBatch:
        """Return a batch with how its runs stand."""
        return RemoteBatch.of(self._connection.ask_json("GET", f"{_BATCHES}/{batch_id}"))

    def list(self) -> Iterator[RemoteBatch]:
        """Yield batches, newest first."""
        return map(RemoteBatch.of, items(self._connection, _BATCHES, "batches"))
