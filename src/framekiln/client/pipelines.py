"""Pipelines on the service: make them, add versions, look at them, archive them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from framekiln.client.connection import Connection, as_json
from framekiln.client.errors import NoSuchPipeline
from framekiln.client.pages import items
from framekiln.client.pipeline_records import RemotePipeline, RemoteVersion
from framekiln.kit.ids import parse_uuid

_PIPELINES: Final = "/api/v1/pipelines"
_LARGEST_PAGE: Final = 100


class RemotePipelines:
    """The pipelines of an organization."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, name: str, definition: Mapping[str, Any]) -> RemotePipeline:
        """Make a pipeline with its first version; `warnings` in it say what may not be meant."""
        # Not patiently: a second try would find its own name taken.
        body = {"name": name, "definition": definition}
        answer = self._connection.ask_once("POST", _PIPELINES, json=body)
        return RemotePipeline.of(as_json(answer))

    def get(self, pipeline_id: str) -> RemotePipeline:
        """Return a pipeline; `told` has its latest version."""
        return RemotePipeline.of(self._connection.ask_json("GET", f"{_PIPELINES}/{pipeline_id}"))

    def list(self, *, include_archived: bool = False) -> Iterator[RemotePipeline]:
        """Yield pipelines, newest first."""
        # Not always said: a flag that is off is no part of the address.
        archived = "true" if include_archived else None
        query = {"limit": _LARGEST_PAGE, "include_archived": archived}
        return map(RemotePipeline.of, items(self._connection, _PIPELINES, "pipelines", **query))

    def find(self, name_or_id: str) -> RemotePipeline:
        """Return the pipeline with that id, or the one in use that is called so."""
        if parse_uuid(name_or_id) is not None:
            return self.get(name_or_id)
        for pipeline in self.list():
            if pipeline.name == name_or_id:
                return pipeline
        raise NoSuchPipeline(
            f"there is no pipeline {name_or_id!r}: framekiln pipelines list shows them"
        )

    def archive(self, pipeline_id: str) -> RemotePipeline:
        """Let a pipeline take no new versions and runs; twice is harmless."""
        path = f"{_PIPELINES}/{pipeline_id}/archive"
        return RemotePipeline.of(self._connection.ask_json("POST", path))

    def create_version(
        self, pipeline_id: str, definition: Mapping[str, Any]
    ) -> tuple[RemoteVersion, bool]:
        """Return the version with that definition, and whether it is new.

        `warnings` in it say what may not be meant.
        """
        told = self._connection.ask_json(
            "POST", f"{_PIPELINES}/{pipeline_id}/versions", json={"definition": definition}
        )
        warnings = told.get("warnings", [])
        return RemoteVersion.of({**told["version"], "warnings": warnings}), told["created"]

    def versions(self, pipeline_id: str) -> Iterator[RemoteVersion]:
        """Yield the versions of a pipeline, newest first."""
        path = f"{_PIPELINES}/{pipeline_id}/versions"
        return map(RemoteVersion.of, items(self._connection, path, "versions"))

    def version(self, pipeline_id: str, number: int) -> RemoteVersion:
        """Return one version."""
        path = f"{_PIPELINES}/{pipeline_id}/versions/{number}"
        return RemoteVersion.of(self._connection.ask_json("GET", path))
