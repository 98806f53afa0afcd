"""The audit log for its readers."""

from datetime import timedelta

from framekiln.audit import store
from framekiln.audit.model import AuditEvent, AuditFilter
from framekiln.db.pool import Database
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId


class AuditLog:
    """The audit log of all organizations."""

    def __init__(self, database: Database, *, clock: Clock, kept_for: timedelta | None) -> None:
        self._database = database
        self._clock = clock
        self._kept_for = kept_for

    async def page(
        self,
        organization_id: OrganizationId,
        wanted: AuditFilter,
        *,
        limit: int,
        before: int | None,
    ) -> list[AuditEvent]:
        """Return events of an organization, newest first."""
        async with self._database.connection() as connection:
            return await store.list_events(
                connection, organization_id, wanted, limit=limit, before=before
            )

    async def remove_old(self) -> int:
        """Delete events that are older than the operator wants; return their number."""
        if self._kept_for is None:
            return 0
        async with self._database.transaction() as connection:
            return await store.delete_events(connection, before=self._clock.now() - self._kept_for)
