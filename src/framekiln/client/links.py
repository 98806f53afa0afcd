"""Signed links on the service: make, list and revoke them."""

from collections.abc import Iterator
from typing import Any, Final, Literal

from framekiln.client.connection import ServiceConnection, iter_items, json_object
from framekiln.client.model import RemoteLink

_LINKS: Final = "/api/v1/links"

LinkScope = Literal["api_key", "organization"]


class RemoteLinks:
    """The links of an organization."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def create(
        self, url: str, *, expires_in_s: int | None = None, scope: LinkScope = "api_key"
    ) -> RemoteLink:
        """Make a link to media at a URL of the service, valid for a day by default.

        With the scope `organization` it stays valid when this client's key is revoked.
        """
        body: dict[str, Any] = {"url": url, "scope": scope}
        if expires_in_s is not None:
            body["expires_in_s"] = expires_in_s
        # Without retries: a second attempt could make a second link.
        return RemoteLink.of(json_object(self._connection.request_once("POST", _LINKS, json=body)))

    def list(self) -> Iterator[RemoteLink]:
        """Yield all links, newest first."""
        return map(RemoteLink.of, iter_items(self._connection, _LINKS, "links"))

    def revoke(self, link_id: str) -> None:
        """Revoke a link at once."""
        self._connection.request_json("DELETE", f"{_LINKS}/{link_id}")
