"""Endpoints: the caller's own services, registered for steps that ask them."""

from collections.abc import Iterator
from typing import Any, Final

from framekiln.client.connection import Connection, as_json
from framekiln.client.pages import items
from framekiln.client.pipeline_records import RemoteEndpoint

_ENDPOINTS: Final = "/api/v1/pipeline-endpoints"


class RemoteEndpoints:
    """The endpoints of an organization."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, url: str, **settings: Any) -> RemoteEndpoint:
        """Register a service; `settings` are those of POST /api/v1/pipeline-endpoints.

        The answer has the secret that signs requests to it, this once.
        """
        # Not patiently: a second try could register it twice.
        body = {"url": url, **settings}
        answer = self._connection.ask_once("POST", _ENDPOINTS, json=body)
        return RemoteEndpoint.of(as_json(answer))

    def get(self, endpoint_id: str) -> RemoteEndpoint:
        """Return an endpoint, archived or not."""
        return RemoteEndpoint.of(self._connection.ask_json("GET", f"{_ENDPOINTS}/{endpoint_id}"))

    def list(self, *, include_archived: bool = False) -> Iterator[RemoteEndpoint]:
        """Yield endpoints, newest first."""
        archived = "true" if include_archived else None
        found = items(self._connection, _ENDPOINTS, "endpoints", include_archived=archived)
        return map(RemoteEndpoint.of, found)

    def archive(self, endpoint_id: str) -> RemoteEndpoint:
        """Have nothing new sent to an endpoint; twice is harmless."""
        path = f"{_ENDPOINTS}/{endpoint_id}/archive"
        return RemoteEndpoint.of(self._connection.ask_json("POST", path))
