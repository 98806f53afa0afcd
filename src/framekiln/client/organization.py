"""The organization of the client's key: its quotas, its changes, and feedback to the operator."""

from collections.abc import Callable
from typing import Any, Final

from framekiln.client.model import RemoteOrganization
from framekiln.client.operations import (
    Connection_co,
    Follow,
    Items,
    RemotePart,
    Steps,
    listing,
    operation,
    retried,
)
from framekiln.client.responses import Json

_ORGANIZATION: Final = "/api/v1/organization"


class RemoteOrganizationPart(RemotePart[Connection_co]):
    """The organization itself."""

    @operation
    def get(self) -> Steps[RemoteOrganization]:
        """Return the organization; with a wrong key, raise `ServiceRefused`."""
        return RemoteOrganization.of((yield from self._read("GET", _ORGANIZATION)))

    @operation
    def usage(self, days: int = 30) -> Steps[tuple[Json, ...]]:
        """Return what the organization used on each of the last days, oldest first."""
        raw = yield from self._read("GET", f"{_ORGANIZATION}/usage", params={"days": days})
        return tuple(raw["days"])

    @listing
    def audit_log(self, /, **filters: str) -> Items[Json]:
        """Yield who changed what, newest first; the filters are those of GET /api/v1/audit."""
        return self._items("/api/v1/audit", "events", dict, **filters)

    @operation
    def follow(self, on_change: Callable[[], bool]) -> Steps[None]:
        """Call `on_change` when anything has changed, until it returns True.

        It is called once at the beginning, and again after the connection broke.
        """
        retry = self._retry()

        def read(name: str, _: str) -> bool:
            retry.record_progress()
            return name == "changed" and on_change()

        # The service also ends the stream when it restarts.
        while not (yield from retried(retry, Follow("/api/v1/activity", read))):
            pass

    @operation
    def send_feedback(
        self, /, category: str, summary: str, details: str, **more: Any
    ) -> Steps[str]:
        """Write feedback to the log of the operator; return its id there."""
        body = {"category": category, "summary": summary, "details": details, **more}
        return str((yield from self._read_once("POST", "/api/v1/feedback", json=body))["id"])
