"""Limits of copies: servers that callers choose may be silent, slow, or victims."""

import asyncio
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from framekiln.destinations.handlers import CopyOutput
from framekiln.destinations.hosts import HostPlaces
from framekiln.destinations.jobs import COPY_OUTPUT
from framekiln.jobs.model import JobContext
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.quotas.model import Quota
from framekiln.worker.loop import run_worker
from tests.support.app import AppHarness
from tests.support.destinations import CONTENT, complete, copies, create
from tests.support.receiver import NO_ANSWER, Answer, Receiver
from tests.support.timeouts import TIMEOUT_S
from tests.support.webhooks import wait_for_requests


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"fetch_allow": frozenset({"127.0.0.1"})}


async def test_silent_servers_of_one_organization_delay_nobody(
    app: AppHarness, receiver: Receiver
) -> None:
    flooder, other = await app.other_organization(), await app.other_organization()
    receiver.answer_by(lambda it: NO_ANSWER if it.path.startswith("/silent") else Answer())
    silent = [{"type": "url", "url": receiver.url(f"/silent/{n}")} for n in range(10)]
    for _ in range(2):
        await complete(flooder, RenderId(UUID(await create(flooder, *silent))))
    worker = asyncio.create_task(run_worker(app.services, queues=["io"], concurrency=20))
    try:
        await wait_for_requests(receiver, 4)
        hook = {"url": receiver.url("/hook"), "events": ["destination.*"]}
        await other.client.post("/api/v1/webhooks", json=hook)
        render_id = await create(other, {"type": "url", "url": receiver.url("/films/a")})
        await complete(other, RenderId(UUID(render_id)))
        # The four, a copy, a test event and an event.
        paths = [each.path for each in await wait_for_requests(receiver, 7)]
    finally:
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
    assert sum(path.startswith("/silent") for path in paths) == 4
    assert (await copies(other, render_id))[0]["status"] == "complete"


def copy_handler(app: AppHarness, **options: Any) -> CopyOutput:
    services = app.services
    return CopyOutput(
        services.destination_worker, blobs=services.blobs, fetcher=services.fetcher, **options
    )


async def one_copy(app: AppHarness, receiver: Receiver) -> tuple[str, JobContext]:
    """A copy that is due, and its job."""
    render_id = await create(app, {"type": "url", "url": receiver.url("/a")})
    await complete(app, RenderId(UUID(render_id)))
    [copy] = await copies(app, render_id)
    return render_id, JobContext(1, COPY_OUTPUT, {"destination_id": copy["id"]}, 1)


async def test_a_server_that_stops_responding_is_given_up(
    app: AppHarness, receiver: Receiver
) -> None:
    receiver.answer(NO_ANSWER)
    render_id, job = await one_copy(app, receiver)
    await copy_handler(app, stall_s=0.2)(job)
    [copy] = await copies(app, render_id)
    assert (copy["status"], copy["error"]["code"]) == ("pending", "fetch_failed")
    assert "stopped responding" in copy["error"]["message"]


async def test_a_copy_stops_when_its_output_is_deleted(app: AppHarness, receiver: Receiver) -> None:
    receiver.answer(NO_ANSWER)
    render_id, job = await one_copy(app, receiver)
    copying = asyncio.ensure_future(copy_handler(app)(job))
    await wait_for_requests(receiver, 1)
    await app.client.delete(f"/api/v1/renders/{render_id}")
    async with asyncio.timeout(TIMEOUT_S):
        await copying


async def test_a_host_with_many_copies_gets_the_next_one_later(
    app: AppHarness, receiver: Receiver
) -> None:
    render_id, job = await one_copy(app, receiver)
    await copy_handler(app, hosts=HostPlaces(0))(job)
    [copy] = await copies(app, render_id)
    assert (copy["status"], copy["attempts"], copy["error"]) == ("pending", 0, None)
    assert receiver.requests == []
    await copy_handler(app)(job)
    assert (await copies(app, render_id))[0]["status"] == "complete"


async def test_copies_have_a_quota_of_bytes(app: AppHarness, receiver: Receiver) -> None:
    owner = await app.other_organization()
    organization = (await owner.client.get("/api/v1/organization")).json()
    organization_id = OrganizationId(UUID(organization["id"]))
    await app.services.quotas.set_limit(organization_id, Quota.UPLOADED_BYTES, 1)
    _, first = await one_copy(owner, receiver)
    refused_id, second = await one_copy(owner, receiver)
    await copy_handler(app)(first)
    await copy_handler(app)(second)
    [copy] = await copies(owner, refused_id)
    assert (copy["status"], copy["error"]["code"]) == ("pending", "quota_exceeded")
    assert len(receiver.requests) == 1
    quotas = (await owner.client.get("/api/v1/organization")).json()["quotas"]
    assert quotas["uploaded_bytes"] == {"used": len(CONTENT), "limit": 1}
    assert quotas["concurrent_copies"] == {"used": 0, "limit": 4}
