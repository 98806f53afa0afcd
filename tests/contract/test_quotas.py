"""Quotas of organizations: what is refused, what waits, and what the errors say."""

import asyncio
from datetime import timedelta
from fractions import Fraction
from typing import Any
from uuid import UUID

import httpx
import pytest
from structlog.testing import capture_logs

from framekiln.capture.page import FrameSize
from framekiln.engine.film_plan import FilmPlan, cut_slices
from framekiln.jobs.model import NewJob
from framekiln.kit.errors import FramekilnError
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.quotas import store
from framekiln.quotas.model import Quota, QuotaExceeded
from framekiln.quotas.service import Quotas
from framekiln.timeline import Timeline
from tests.support.app import AppHarness
from tests.support.clock import SettableClock
from tests.support.timeouts import TIMEOUT_S

RENDERS = "/api/v1/renders"
RENDER = {"html": "<p>x", "width": 64, "height": 36, "duration_ms": 100}
MINUTE_MS = 60_000


@pytest.fixture
async def org(app: AppHarness) -> AppHarness:
    """A new organization."""
    return await app.other_organization()


async def id_of(org: AppHarness) -> OrganizationId:
    return OrganizationId(UUID((await org.client.get("/api/v1/organization")).json()["id"]))


async def set_limit(org: AppHarness, quota: Quota, limit: int | None) -> None:
    await org.services.quotas.set_limit(await id_of(org), quota, limit)


async def usage(org: AppHarness, quota: Quota) -> dict[str, Any]:
    found = (await org.client.get("/api/v1/organization")).json()
    usage: dict[str, Any] = found["quotas"][quota]
    return usage


def assert_refused(answer: httpx.Response, quota: Quota, *, used: int, limit: int) -> None:
    assert answer.status_code == 429
    body = answer.json()
    assert body["error"] == "quota_exceeded"
    assert (body["quota"], body["used"], body["limit"]) == (quota, used, limit)
    assert int(answer.headers["Retry-After"]) == body["retry_after_s"] > 0
    assert quota in body["message"]


async def plan_film(org: AppHarness, render_id: str, *, minutes: int) -> None:
    render = await org.services.render_worker.get(RenderId(UUID(render_id)))
    assert render is not None
    timeline = Timeline.lasting(minutes * MINUTE_MS, Fraction(1))
    plan = FilmPlan(FrameSize(64, 36), timeline)
    await org.services.render_worker.save_plan(render, plan, cut_slices(timeline, MINUTE_MS))


class TestQueuedJobs:
    async def test_jobs_over_the_limit_are_refused(self, org: AppHarness) -> None:
        await set_limit(org, Quota.QUEUED_JOBS, 2)
        for _ in range(2):
            assert (await org.client.post(RENDERS, json=RENDER)).status_code == 201
        with capture_logs() as lines:
            refused = await org.client.post(RENDERS, json=RENDER)
        assert_refused(refused, Quota.QUEUED_JOBS, used=2, limit=2)
        (line,) = [line for line in lines if line["event"] == "quota.exceeded"]
        assert (line["quota"], line["used"], line["limit"]) == ("queued_jobs", 2, 2)
        assert await usage(org, Quota.QUEUED_JOBS) == {"used": 2, "limit": 2}

    async def test_nothing_is_left_of_a_refused_render(self, org: AppHarness) -> None:
        await set_limit(org, Quota.QUEUED_JOBS, 0)
        before = await org.count_stored()
        assert (await org.client.post(RENDERS, json=RENDER)).status_code == 429
        assert await org.count_stored() == before

    async def test_other_organizations_are_not_affected(
        self, app: AppHarness, org: AppHarness
    ) -> None:
        await set_limit(org, Quota.QUEUED_JOBS, 0)
        assert (await app.client.post(RENDERS, json=RENDER)).status_code == 201

    async def test_concurrent_requests_do_not_exceed_the_limit(self, org: AppHarness) -> None:
        organization_id = await id_of(org)
        await set_limit(org, Quota.QUEUED_JOBS, 1)
        services = org.services
        async with (
            services.database.transaction() as first,
            services.database.connection() as second,
        ):
            await services.quotas.check(first, organization_id, Quota.QUEUED_JOBS)
            args = {"organization_id": str(organization_id)}
            await services.jobs.defer(first, NewJob("note", args, "nowhere"))
            await second.execute("SET lock_timeout = '100ms'")
            # The second one waits until the first has ended.
            with pytest.raises(Exception, match="lock timeout"):
                await services.quotas.check(second, organization_id, Quota.QUEUED_JOBS)
            await second.execute("RESET lock_timeout")
        async with services.database.transaction() as connection:
            with pytest.raises(QuotaExceeded):
                await services.quotas.check(connection, organization_id, Quota.QUEUED_JOBS)

    async def test_a_check_that_waited_counts_what_was_committed_meanwhile(
        self, org: AppHarness
    ) -> None:
        organization_id = await id_of(org)
        await set_limit(org, Quota.QUEUED_JOBS, 1)
        services = org.services

        async def check() -> None:
            async with services.database.transaction() as second:
                await services.quotas.check(second, organization_id, Quota.QUEUED_JOBS)

        async with services.database.transaction() as first:
            await services.quotas.check(first, organization_id, Quota.QUEUED_JOBS)
            waiting = asyncio.create_task(check())
            await self.wait_for_a_waiting_check(org)
            args = {"organization_id": str(organization_id)}
            await services.jobs.defer(first, NewJob("note", args, "nowhere"))
        with pytest.raises(QuotaExceeded):
            await waiting

    async def test_of_many_requests_at_once_none_is_too_many(self, org: AppHarness) -> None:
        await set_limit(org, Quota.QUEUED_JOBS, 3)
        answers = await asyncio.gather(*(org.client.post(RENDERS, json=RENDER) for _ in range(8)))
        statuses = sorted(answer.status_code for answer in answers)
        assert statuses == [201] * 3 + [429] * 5
        assert (await usage(org, Quota.QUEUED_JOBS))["used"] == 3

    async def wait_for_a_waiting_check(self, org: AppHarness) -> None:
        query = """
            SELECT EXISTS (
                SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
                WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()
            ) AS found
        """
        async with asyncio.timeout(TIMEOUT_S), org.services.database.connection() as connection:
            row = await (await connection.execute(query)).fetchone()
            while not (row and row["found"]):
                await asyncio.sleep(0.02)
                row = await (await connection.execute(query)).fetchone()

    async def test_a_check_without_any_limit_waits_for_nobody(self, org: AppHarness) -> None:
        organization_id, services = await id_of(org), org.services
        quotas = Quotas(
            services.database, clock=services.clock, defaults=dict.fromkeys(Quota, None)
        )
        async with (
            services.database.transaction() as first,
            services.database.transaction() as second,
        ):
            await services.quotas.check(first, organization_id, Quota.QUEUED_JOBS)
            await second.execute("SET LOCAL lock_timeout = '1ms'")
            await quotas.check(second, organization_id, Quota.QUEUED_JOBS)


@pytest.mark.parametrize("film_ms", [0, MINUTE_MS, MINUTE_MS + 1, 2 * MINUTE_MS, 2 * MINUTE_MS + 1])
@pytest.mark.parametrize("byte_count", [0, 9, 10, 11])
async def test_the_condition_of_a_statement_agrees_with_the_check(
    org: AppHarness, film_ms: int, byte_count: int
) -> None:
    organization_id, quotas = await id_of(org), org.services.quotas
    names = (Quota.QUEUED_JOBS, Quota.RENDER_MINUTES, Quota.STORED_BYTES)
    await set_limit(org, Quota.RENDER_MINUTES, 2)
    await set_limit(org, Quota.STORED_BYTES, 10)
    condition = quotas.allowing(organization_id, *names)
    async with org.services.database.transaction() as connection:
        await quotas.record(connection, organization_id, Quota.RENDER_MINUTES, film_ms)
        if byte_count:
            await connection.execute(
                "INSERT INTO stored_change VALUES (%s, %s)", (organization_id, byte_count)
            )
        cursor = await connection.execute(
            f"SELECT {condition.text} AS is_allowed",
            condition.parameters,
        )
        row = await cursor.fetchone()
        try:
            await quotas.check(connection, organization_id, *names)
        except QuotaExceeded:
            assert row == {"is_allowed": False}
        else:
            assert row == {"is_allowed": True}


class TestRenderMinutes:
    async def test_films_are_counted_when_they_are_planned(self, org: AppHarness) -> None:
        await set_limit(org, Quota.RENDER_MINUTES, 5)
        first, second, third = [await org.create(**RENDER) for _ in range(3)]
        await plan_film(org, first, minutes=3)
        assert await usage(org, Quota.RENDER_MINUTES) == {"used": 3, "limit": 5}
        await plan_film(org, second, minutes=3)
        assert_refused(
            await org.client.post(RENDERS, json=RENDER), Quota.RENDER_MINUTES, used=6, limit=5
        )
        still = RENDER | {"output": {"container": "png"}}
        assert (await org.client.post(RENDERS, json=still)).status_code == 201
        # It was accepted before the others were planned.
        await plan_film(org, third, minutes=3)
        info = await org.info(third)
        assert (info["status"], info["error"]["code"]) == ("failed", "quota_exceeded")

    async def test_deletion_returns_no_minutes(self, org: AppHarness) -> None:
        render_id = await org.create(**RENDER)
        await plan_film(org, render_id, minutes=3)
        async with org.services.database.connection() as connection:
            await connection.execute("DELETE FROM render WHERE id = %s", (render_id,))
        assert (await usage(org, Quota.RENDER_MINUTES))["used"] == 3

    async def test_usage_expires_with_its_window(self, org: AppHarness) -> None:
        services, organization_id = org.services, await id_of(org)
        clock = SettableClock(services.clock.now())
        quotas = Quotas(
            services.database,
            clock=clock,
            defaults=dict.fromkeys(Quota, 1),
        )
        await quotas.record_download(organization_id, 10)
        with pytest.raises(QuotaExceeded) as caught:
            await quotas.check_downloads(organization_id)
        assert 0 < caught.value.details["retry_after_s"] <= 24 * 3600
        clock.advance(timedelta(seconds=caught.value.details["retry_after_s"]))
        await quotas.check_downloads(organization_id)
        clock.advance(timedelta(days=500))
        await quotas.remove_old()
        assert (await usage(org, Quota.DOWNLOADED_BYTES))["used"] == 0


class TestStoredBytes:
    async def test_a_file_that_does_not_fit_is_refused(self, org: AppHarness) -> None:
        await set_limit(org, Quota.STORED_BYTES, 1000)
        file = {"filename": "a.mp4", "type": "video", "byte_size": 600}
        created = await org.client.post("/api/v1/files", json=file)
        assert created.status_code == 201
        refused = await org.client.post("/api/v1/files", json=file)
        assert_refused(refused, Quota.STORED_BYTES, used=600, limit=1000)
        await org.client.delete(f"/api/v1/files/{created.json()['id']}")
        assert (await org.client.post("/api/v1/files", json=file)).status_code == 201

    async def test_every_change_of_stored_bytes_is_counted(self, org: AppHarness) -> None:
        organization_id = await id_of(org)
        file_id, render_id = await self.make_file(org, 1000), await org.create(**RENDER)
        assert await stored(org) == 1000
        statements = [
            ("INSERT INTO file_track VALUES (%s, 1, 'video', 'h264', 1, 50, 0, true, '{}')", 1050),
            ("INSERT INTO file_track VALUES (%s, 2, 'audio', 'aac', 1, 7, 0, true, '{}')", 1057),
            ("DELETE FROM file_track WHERE file_id = %s AND track_id = 2", 1050),
            ("UPDATE file_track SET byte_size = 60 WHERE file_id = %s", 1060),
            ("UPDATE file SET content_removed_at = now() WHERE id = %s", 0),
            ("UPDATE file SET content_removed_at = NULL WHERE id = %s", 1060),
            ("DELETE FROM file WHERE id = %s", 0),
        ]
        async with org.services.database.connection() as connection:
            for statement, expected in statements:
                await connection.execute(statement, (file_id,))
                assert await stored(org) == expected, statement
            output = "UPDATE render SET byte_size = 30 WHERE id = %s"
            await connection.execute(output, (render_id,))
            assert await stored(org) == 30
            await store.merge_stored_changes(connection, most=0)
            assert await stored(org) == 30
            query = "SELECT count(*) AS n FROM stored_change WHERE organization_id = %s"
            row = await (await connection.execute(query, (organization_id,))).fetchone()
            assert row == {"n": 1}
            await connection.execute("DELETE FROM render WHERE id = %s", (render_id,))
        assert await stored(org) == 0

    async def make_file(self, org: AppHarness, byte_size: int) -> str:
        file = {"filename": "a.mp4", "type": "video", "byte_size": byte_size}
        return str((await org.client.post("/api/v1/files", json=file)).json()["id"])


async def stored(org: AppHarness) -> int:
    return int((await usage(org, Quota.STORED_BYTES))["used"])


class TestDownloads:
    async def test_nothing_is_fetched_beyond_the_limit(self, org: AppHarness) -> None:
        await set_limit(org, Quota.DOWNLOADED_BYTES, 1)
        await org.services.quotas.record_download(await id_of(org), 1)
        with pytest.raises(QuotaExceeded, match="downloaded_bytes"):
            await org.services.ingest.get(await id_of(org), "https://nowhere.invalid/a.png")


class TestRequests:
    async def test_a_flood_of_requests_is_refused(self, org: AppHarness) -> None:
        organization_id = await id_of(org)
        await set_limit(org, Quota.REQUESTS_PER_MINUTE, 3)
        # A process reads the limits anew after a while.
        org.services.quotas._buckets.clear()
        answers = [await org.client.get("/api/v1/organization") for _ in range(5)]
        assert [answer.status_code for answer in answers[:3]] == [200] * 3
        assert_refused(answers[-1], Quota.REQUESTS_PER_MINUTE, used=3, limit=3)
        await org.services.quotas.set_limit(organization_id, Quota.REQUESTS_PER_MINUTE, None)
        org.services.quotas._buckets.clear()
        assert (await org.client.get("/api/v1/organization")).status_code == 200

    async def test_requests_cause_no_query_while_the_limit_is_cached(self, org: AppHarness) -> None:
        organization_id = await id_of(org)
        quotas = Quotas(
            org.services.database,
            clock=org.services.clock,
            defaults=dict.fromkeys(Quota, 100),
        )
        await quotas.count_request(organization_id)
        quotas._database = None  # type: ignore[assignment]
        for _ in range(20):
            await quotas.count_request(organization_id)


class TestDays:
    async def test_each_day_has_what_was_used_on_it(self, org: AppHarness) -> None:
        services, organization_id = org.services, await id_of(org)
        clock = SettableClock(services.clock.now() - timedelta(days=1))
        quotas = Quotas(services.database, clock=clock, defaults=dict.fromkeys(Quota))
        await quotas.record_download(organization_id, 10)
        await TestStoredBytes().make_file(org, 700)
        await quotas.remove_old()
        await TestStoredBytes().make_file(org, 50)
        await services.quotas.remove_old()
        await plan_film(org, await org.create(**RENDER), minutes=3)
        services.quotas._buckets[organization_id].limit_until_s = 0
        answer = await org.client.get("/api/v1/organization/usage", params={"days": 3})
        before, yesterday, today = answer.json()["days"]
        assert today["day"] == services.clock.now().date().isoformat()
        assert before["stored_bytes"] is None
        assert (yesterday["downloaded_bytes"], yesterday["stored_bytes"]) == (10, 700)
        assert (today["renders"], today["render_minutes"], today["stored_bytes"]) == (1, 3.0, 750)
        assert today["requests"] > 0
        assert (yesterday["renders"], today["downloaded_bytes"]) == (0, 0)
        other = await org.other_organization()
        theirs = (await other.client.get("/api/v1/organization/usage", params={"days": 1})).json()
        assert theirs["days"][0]["renders"] == 0
        for days in ("0", "367", "x"):
            refused = await org.client.get("/api/v1/organization/usage", params={"days": days})
            assert (refused.status_code, refused.json()["field"]) == (400, "days")


class TestLimits:
    async def test_an_organization_returns_to_the_default(self, org: AppHarness) -> None:
        default = (await usage(org, Quota.QUEUED_JOBS))["limit"]
        assert default == org.services.settings.quota_queued_jobs
        await set_limit(org, Quota.QUEUED_JOBS, None)
        assert (await usage(org, Quota.QUEUED_JOBS))["limit"] is None
        await org.services.quotas.reset_limit(await id_of(org), Quota.QUEUED_JOBS)
        assert (await usage(org, Quota.QUEUED_JOBS))["limit"] == default

    async def test_every_quota_is_shown(self, org: AppHarness) -> None:
        found = (await org.client.get("/api/v1/organization")).json()["quotas"]
        assert set(found) == set(Quota)
        assert found[Quota.REQUESTS_PER_MINUTE]["used"] is None

    async def test_refusals_are_metrics_without_ids(self, org: AppHarness) -> None:
        organization_id = await id_of(org)
        await set_limit(org, Quota.QUEUED_JOBS, 0)
        assert (await org.client.post(RENDERS, json=RENDER)).status_code == 429
        metrics = org.asgi.state.metrics
        assert metrics.quota_refusals.labels("queued_jobs")._value.get() >= 1
        await org.services.quotas.reset_limit(organization_id, Quota.QUEUED_JOBS)
        await org.create(**RENDER)
        depths = {depth.queue: depth for depth in await org.services.jobs.depths()}
        assert depths["render"].waiting_organizations >= 1


def test_the_error_can_be_retried() -> None:
    assert issubclass(QuotaExceeded, FramekilnError)
    assert QuotaExceeded.retryable


@pytest.mark.parametrize("path", [RENDERS, "/v2/videos"])
async def test_a_request_has_a_place_of_its_organization(org: AppHarness, path: str) -> None:
    turns, owner = org.asgi.state.turns, str(await id_of(org))
    async with org.services.database.transaction() as connection:
        await connection.execute("LOCK TABLE render, video IN ACCESS EXCLUSIVE MODE")
        request = asyncio.create_task(org.client.get(path))
        while owner not in turns.places._held:
            assert not request.done(), request
            await asyncio.sleep(0.01)
    assert (await request).status_code == 200
    assert not turns.places._held
