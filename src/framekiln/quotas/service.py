"""Checks and counts what organizations use.

Jobs are counted in their rows. Triggers of the database record each change of stored bytes. Minutes
and downloads are counted by the hour, because their rows may be deleted. All of this is part of the
transaction that causes it, so it cannot be wrong. Requests are counted in the memory of each
process: they cost no query. Their number is written down whenever the limits are read again, so the
last seconds of a process are lost.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, timedelta
from math import ceil
from typing import Any, Final

import structlog

from framekiln.audit.log import record
from framekiln.db.condition import Condition
from framekiln.db.pool import Connection, Database
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId
from framekiln.quotas import store
from framekiln.quotas.model import (
    ADVICE,
    USAGE_KEPT_FOR,
    WINDOW,
    DailyAmount,
    DayUsage,
    Limits,
    Quota,
    QuotaExceeded,
    QuotaUsage,
)
from framekiln.quotas.store import StoredUsage

MS_PER_MINUTE: Final = 60_000
_LIMITS_FOR_S: Final = 15.0
_MAX_BUCKETS: Final = 10_000
_MAX_CHANGES: Final = 100
# What ends by itself, and what somebody must delete.
_RETRY_AFTER_S: Final = {Quota.QUEUED_JOBS: 30, Quota.STORED_BYTES: 3600}

log = structlog.get_logger(__name__)


class Quotas:
    """The quotas of all organizations."""

    def __init__(self, database: Database, *, clock: Clock, defaults: Limits) -> None:
        self._database = database
        self._clock = clock
        self._defaults = defaults
        self._buckets: dict[OrganizationId, _Bucket] = {}

    async def check(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        *quotas: Quota,
        adding_bytes: int = 0,
    ) -> None:
        """Raise `QuotaExceeded` if one of the quotas is used up, or would be by more stored bytes.

        Until the caller's transaction ends, nobody else can use up the same quotas.
        """
        for each in await self._find(connection, organization_id, quotas, is_check=True):
            adding = adding_bytes if each.quota is Quota.STORED_BYTES else 0
            self._check(organization_id, each, adding)

    def allowing(self, organization_id: OrganizationId, *quotas: Quota) -> Condition:
        """Return the condition under which `check` raises nothing, for a statement that inserts.

        It locks like `check`. It is no part of an error: who needs one calls `check`.
        """
        since = self._clock.now() - WINDOW
        return store.allowing(organization_id, quotas, defaults=self._defaults, since=since)

    async def record(
        self, connection: Connection, organization_id: OrganizationId, quota: Quota, amount: int
    ) -> None:
        """Count what is used of a quota for a time: bytes, or milliseconds of film."""
        if amount:
            await store.add_usage(connection, organization_id, quota, amount, now=self._clock.now())

    async def record_film(
        self, connection: Connection, organization_id: OrganizationId, duration_ms: int
    ) -> None:
        """Count a film and its length."""
        now = self._clock.now()
        for name, amount in ((DailyAmount.RENDERS, 1), (DailyAmount.RENDER_MS, duration_ms)):
            if amount:
                await store.add_usage(connection, organization_id, name, amount, now=now)

    async def check_downloads(self, organization_id: OrganizationId) -> None:
        """Raise `QuotaExceeded` if nothing more may be downloaded."""
        async with self._database.transaction() as connection:
            await self.check(connection, organization_id, Quota.DOWNLOADED_BYTES)

    async def record_download(self, organization_id: OrganizationId, byte_count: int) -> None:
        """Count downloaded bytes."""
        async with self._database.transaction() as connection:
            await self.record(connection, organization_id, Quota.DOWNLOADED_BYTES, byte_count)

    async def usage(self, organization_id: OrganizationId) -> list[QuotaUsage]:
        """Return all quotas of an organization with what is used of them."""
        async with self._database.connection() as connection:
            found = await self._find(connection, organization_id, tuple(Quota), is_check=False)
        return [QuotaUsage(each.quota, _shown(each), each.limit) for each in found]

    async def days(self, organization_id: OrganizationId, count: int) -> list[DayUsage]:
        """Return what was used on each of the last days, oldest first; the last one is today."""
        now = self._clock.now().astimezone(UTC)
        first = (now - timedelta(days=count - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        async with self._database.connection() as connection:
            found = await store.list_days(connection, organization_id, since=first)
        return [_day_usage(first.date() + timedelta(days=number), found) for number in range(count)]

    async def limits(self, connection: Connection, organization_id: OrganizationId) -> Limits:
        """Return the limits of an organization."""
        own = await store.find_limits(connection, organization_id)
        return {quota: own.get(quota, self._defaults[quota]) for quota in Quota}

    async def set_limit(
        self, organization_id: OrganizationId, quota: Quota, amount: int | None
    ) -> None:
        """Give an organization a limit of its own; None means no limit."""
        async with self._database.transaction() as connection:
            await store.set_limit(connection, organization_id, quota, amount)
            await self._record_change(connection, organization_id, quota, limit=amount)

    async def reset_limit(self, organization_id: OrganizationId, quota: Quota) -> None:
        """Return to the limit of the settings."""
        async with self._database.transaction() as connection:
            await store.remove_limit(connection, organization_id, quota)
            await self._record_change(connection, organization_id, quota, is_default=True)

    async def _record_change(
        self, connection: Connection, organization_id: OrganizationId, quota: Quota, **details: Any
    ) -> None:
        now = self._clock.now()
        await record(
            connection, organization_id, "quota.changed", resource=quota, now=now, **details
        )

    async def remove_old(self) -> None:
        """Delete old counts, merge the changes of stored bytes and write down their sums."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            await store.delete_usage(connection, before=now - USAGE_KEPT_FOR)
            await store.merge_stored_changes(connection, most=_MAX_CHANGES)
            await store.note_stored_bytes(connection, now=now)

    async def count_request(self, organization_id: OrganizationId) -> None:
        """Count a request to this process; raise `QuotaExceeded` if there are too many."""
        now_s = time.monotonic()
        bucket = self._buckets.get(organization_id)
        if bucket is None or bucket.limit_until_s < now_s:
            limits = await self._read_limits(organization_id, bucket)
            if len(self._buckets) >= _MAX_BUCKETS:
                self._buckets.clear()
            bucket = self._buckets.setdefault(organization_id, _Bucket())
            bucket.set_limit(limits[Quota.REQUESTS_PER_MINUTE], now_s)
        bucket.requests += 1
        if wait_s := bucket.take(now_s):
            assert bucket.limit is not None
            raise _exceeded(
                Quota.REQUESTS_PER_MINUTE, organization_id, bucket.limit, bucket.limit, wait_s
            )

    async def _read_limits(
        self, organization_id: OrganizationId, bucket: "_Bucket | None"
    ) -> Limits:
        """Read the limits, and write down the requests since the last time."""
        requests, now = bucket.pop_requests() if bucket else 0, self._clock.now()
        async with self._database.transaction() as connection:
            if requests:
                await store.add_usage(
                    connection, organization_id, DailyAmount.REQUESTS, requests, now=now
                )
            return await self.limits(connection, organization_id)

    async def _find(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        quotas: Sequence[Quota],
        *,
        is_check: bool,
    ) -> list[StoredUsage]:
        return await store.find_usage(
            connection,
            organization_id,
            quotas,
            defaults=self._defaults,
            since=self._clock.now() - WINDOW,
            is_check=is_check,
        )

    def _check(self, organization_id: OrganizationId, found: StoredUsage, adding: int) -> None:
        used, limit = _shown(found), found.limit
        if used is None or limit is None or (used < limit and used + adding <= limit):
            return
        wait_s = _RETRY_AFTER_S.get(found.quota) or self._window_s(found)
        raise _exceeded(found.quota, organization_id, used, limit, wait_s)

    def _window_s(self, found: StoredUsage) -> int:
        """Return in how many seconds the first hour of the window leaves it."""
        now = self._clock.now()
        return ceil(((found.first_hour or now) + WINDOW - now).total_seconds())


def _day_usage(day: date, found: Mapping[tuple[date, str], int]) -> DayUsage:
    return DayUsage(
        day=day,
        renders=found.get((day, DailyAmount.RENDERS), 0),
        render_ms=found.get((day, DailyAmount.RENDER_MS), 0),
        stored_bytes=found.get((day, DailyAmount.STORED_BYTES)),
        downloaded_bytes=found.get((day, DailyAmount.DOWNLOADED_BYTES), 0),
        requests=found.get((day, DailyAmount.REQUESTS), 0),
    )


def _shown(found: StoredUsage) -> int | None:
    """Return what is used, in the unit of the limit."""
    if found.quota is Quota.RENDER_MINUTES and found.used is not None:
        return ceil(found.used / MS_PER_MINUTE)
    return found.used


@dataclass
class _Bucket:
    """The requests that an organization may still send; refilled all the time."""

    limit: int | None = None
    limit_until_s: float = 0.0
    """When the limit has to be read again."""
    requests: int = 0
    """Those that are not written down yet."""
    _tokens: float = field(default=-1.0, init=False)
    _filled_at_s: float = field(default=0.0, init=False)

    def set_limit(self, limit: int | None, now_s: float) -> None:
        if self._tokens < 0:
            self._tokens, self._filled_at_s = float(limit or 0), now_s
        self.limit, self.limit_until_s = limit, now_s + _LIMITS_FOR_S

    def pop_requests(self) -> int:
        """Return the requests that are not written down yet, once."""
        requests, self.requests = self.requests, 0
        return requests

    def take(self, now_s: float) -> int:
        """Take a token; if there is none, return in how many seconds there will be."""
        if self.limit is None:
            return 0
        per_s = self.limit / 60
        refilled = self._tokens + (now_s - self._filled_at_s) * per_s
        self._tokens, self._filled_at_s = min(float(self.limit), refilled), now_s
        if self._tokens >= 1:
            self._tokens -= 1
            return 0
        return max(1, ceil((1 - self._tokens) / per_s)) if per_s else 60


def _exceeded(
    quota: Quota, organization_id: OrganizationId, used: int, limit: int, retry_after_s: int
) -> QuotaExceeded:
    log.warning(
        "quota.exceeded",
        quota=str(quota),
        used=used,
        limit=limit,
        organization_id=str(organization_id),
    )
    return QuotaExceeded(
        f"the quota {quota} of this organization is used up: {used:,} of {limit:,};"
        f" {ADVICE[quota]}, or ask the operator for more",
        quota=str(quota),
        used=used,
        limit=limit,
        retry_after_s=retry_after_s,
    )
