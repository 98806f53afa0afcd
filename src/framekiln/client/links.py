"""Signed links on the service: make, list and revoke them."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from framekiln.client.model import RemoteLink
from framekiln.client.operations import (
    Connection_co,
    Items,
    RemotePart,
    Steps,
    listing,
    operation,
)

_LINKS: Final = "/api/v1/links"

LinkScope = Literal["api_key", "organization"]


class RemoteLinks(RemotePart[Connection_co]):
    """The links of an organization."""

    @operation
    def create(
        self, url: str, *, expires_in_s: int | None = None, scope: LinkScope = "api_key"
    ) -> Steps[RemoteLink]:
        """Make a link to media at a URL of the service, valid for a day by default.

        With the scope `organization` it stays valid when this client's key is revoked.
        """
        body: dict[str, Any] = {"url": url, "scope": scope}
        if expires_in_s is not None:
            body["expires_in_s"] = expires_in_s
        # Without retries: a second attempt could make a second link.
        return RemoteLink.of((yield from self._read_once("POST", _LINKS, json=body)))

    @operation
    def token(self, url: str, params: Mapping[str, str] | None = None) -> Steps[str]:
        """Return a token for a URL of the service and all below it, valid for an hour."""
        body: dict[str, Any] = {"url": url}
        if params is not None:
            body["params"] = dict(params)
        return str((yield from self._read("POST", "/api/v1/url-token", json=body))["token"])

    @listing
    def list(self) -> Items[RemoteLink]:
        """Yield all links, newest first."""
        return self._items(_LINKS, "links", RemoteLink.of)

    @operation
    def revoke(self, link_id: str) -> Steps[None]:
        """Revoke a link at once."""
        yield from self._read("DELETE", f"{_LINKS}/{link_id}")
