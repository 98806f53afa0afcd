"""Clause 4.3, the end of renders: deleted, expired, and found again by md5 while they last."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from framekiln.kit.ids import RenderId
from framekiln.renders.events import RenderEvents
from framekiln.renders.model import RenderStatus
from framekiln.renders.service import Renders
from framekiln.services import Services
from framekiln.storage.keys import TrackedKey
from framekiln.worker.schedule import remove_expired
from tests.support.app import AppHarness, running_workers
from tests.support.clock import SettableClock
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.spec("4.3")

S = RenderStatus
RENDERS = "/api/v1/renders"
SMALL = {"width": 320, "height": 180, "fps": 10, "duration_ms": 300}
ACTIVE = [status for status in S if status.is_active]
AT_REST = [status for status in S if not status.is_active]
MD5 = "0123ABCD-4567-89ab-cdef-0123456789ab"


@pytest.fixture(scope="module")
def empty(idle_app: AppHarness) -> AppHarness:
    """Has nothing left to do, so that a worker comes to a test's own renders at once."""
    return idle_app


async def test_a_follower_of_a_render_learns_of_its_deletion(empty: AppHarness) -> None:
    """The stream of events ended with its next heartbeat."""
    created = (await empty.client.post(RENDERS, json={})).json()
    async with empty.services.renders.follow(RenderId(UUID(created["id"]))) as follower:
        assert (await empty.client.delete(f"{RENDERS}/{created['id']}")).status_code == 200
        assert await follower.wait(TIMEOUT_S)


async def test_a_resource_is_deleted_once(empty: AppHarness) -> None:
    config = {"dimensions": {"width": 2, "height": 2}, "duration": 1}
    template = {"name": "t", "config": config, "inputs": {}, "default_values": {}}
    made = (await empty.client.post("/v2/templates", json=template)).json()["data"]
    render = (await empty.client.post(RENDERS, json={})).json()
    for path in (f"/v2/templates/{made['id']}", f"{RENDERS}/{render['id']}"):
        answers = await asyncio.gather(*(empty.client.delete(path) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 404, 404, 404]


async def force(app: AppHarness, render_id: str, status: RenderStatus) -> None:
    async with app.services.database.transaction() as connection:
        await connection.execute("UPDATE render SET status = %s WHERE id = %s", (status, render_id))


async def add_parts(app: AppHarness, render_id: str) -> None:
    """Leave behind what a worker leaves that ends half-way: slices, progress, blobs."""
    async with app.services.database.transaction() as connection:
        await connection.execute(
            "INSERT INTO render_slice (render_id, number, first_frame, frame_count)"
            " VALUES (%s, 0, 0, 30)",
            (render_id,),
        )
        await connection.execute(
            "INSERT INTO render_slice_progress VALUES (%s, 0, 7)", (render_id,)
        )
    composition = next(blobs(app).rglob(f"{render_id}/composition.html"))
    prefix = composition.parent.relative_to(blobs(app))
    for name in ("slices/0-1.mp4", "slices/0-2.mp4", "sound-1.mp4", "output-1.mp4"):
        await app.services.blobs.put(TrackedKey(f"{prefix}/{name}"), b"x")


def blobs(app: AppHarness) -> Path:
    return app.services.settings.data / "blobs"


def blobs_of(app: AppHarness, render_id: str) -> list[str]:
    return [path.name for path in blobs(app).rglob("*") if render_id in str(path)]


async def rows_of(app: AppHarness, render_id: str) -> list[int]:
    """Return how many rows there are of a render, in each of its tables."""
    tables = {"render": "id", "render_slice": "render_id", "render_slice_progress": "render_id"}
    async with app.services.database.connection() as connection:
        counts = []
        for table, column in tables.items():
            query = f"SELECT count(*) AS n FROM {table} WHERE {column} = %s"
            row = await (await connection.execute(query, (render_id,))).fetchone()
            assert row is not None
            counts.append(row["n"])
    return counts


# --- deletion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["DELETE", "POST"])
@pytest.mark.parametrize("status", AT_REST)
async def test_deleting_a_render_deletes_all_its_blobs(
    app: AppHarness, method: str, status: RenderStatus
) -> None:
    kept = await app.create(html="<p>kept")
    render_id = await app.create(html="<p>x")
    await add_parts(app, render_id)
    await force(app, render_id, status)
    assert await rows_of(app, render_id) == [1, 1, 1]
    path = f"{RENDERS}/{render_id}" + ("/delete" if method == "POST" else "")
    headers = {"Content-Type": "application/json"}
    answer = await app.client.request(method, path, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert await rows_of(app, render_id) == [0, 0, 0]
    assert blobs_of(app, render_id) == []
    for end in ("", ".mp4"):
        assert (await app.client.get(f"{RENDERS}/{render_id}{end}")).status_code == 404
    assert (await app.client.request(method, path)).status_code == 404
    assert "composition.html" in blobs_of(app, kept)


@pytest.mark.spec("3.1", "7")
@pytest.mark.parametrize("method", ["DELETE", "POST"])
@pytest.mark.parametrize("status", ACTIVE)
async def test_an_active_render_is_not_deleted(
    app: AppHarness, method: str, status: RenderStatus
) -> None:
    render_id = await app.create(html="<p>x")
    await add_parts(app, render_id)
    await force(app, render_id, status)
    before = await app.count_stored()
    path = f"{RENDERS}/{render_id}" + ("/delete" if method == "POST" else "")
    answer = await app.client.request(method, path)
    assert answer.status_code == 409
    body = answer.json()
    assert (body["error"], body["status"]) == ("render_is_active", status)
    assert await app.count_stored() == before
    assert await rows_of(app, render_id) == [1, 1, 1]


@pytest.mark.spec("7")
async def test_renders_of_other_organizations_cannot_be_deleted(app: AppHarness) -> None:
    theirs = await (await app.other_organization()).create(html="<p>theirs")
    before = await app.count_stored()
    for render_id in (theirs, str(uuid4()), "nonsense"):
        for method, end in (("DELETE", ""), ("POST", "/delete")):
            answer = await app.client.request(method, f"{RENDERS}/{render_id}{end}")
            assert (answer.status_code, answer.json()["error"]) == (404, "render_not_found")
    assert await app.count_stored() == before


async def test_a_render_deleted_before_its_worker_started_is_not_rendered(
    empty: AppHarness,
) -> None:
    deleted = await empty.create(html="<p>x", **SMALL)
    assert (await empty.client.delete(f"{RENDERS}/{deleted}")).status_code == 200
    async with running_workers(empty.services):
        info = await empty.render("<p>another", **SMALL)
    assert info["status"] == "complete"
    assert await rows_of(empty, deleted) == [0, 0, 0]
    assert blobs_of(empty, deleted) == []


def files_of(app: AppHarness, render_id: str) -> list[str]:
    return sorted(name for name in blobs_of(app, render_id) if "." in name)


async def test_a_finished_render_keeps_only_its_source_and_output(empty: AppHarness) -> None:
    async with running_workers(empty.services):
        info = await empty.render("<p>x", **{**SMALL, "duration_ms": 2500}, work_slice_ms=1000)
        assert info["status"] == "complete"
        # The parts are cleared away after that, by a worker that must not be stopped meanwhile.
        async with asyncio.timeout(TIMEOUT_S):
            while len(files_of(empty, info["id"])) != 2:  # noqa: ASYNC110 - they lie in a folder
                await asyncio.sleep(0.05)
    kept = [name.partition("-")[0] for name in files_of(empty, info["id"])]
    assert kept == ["composition.html", "output"]
    assert (await empty.client.delete(f"{RENDERS}/{info['id']}")).status_code == 200
    assert blobs_of(empty, info["id"]) == []


async def test_a_slice_finished_after_its_render_ended_is_not_stored(empty: AppHarness) -> None:
    """It stayed in the store for ever, also when the render was deleted."""
    html = "<script>setTimeout(() => { throw new Error('late') }, 1500)</script>"
    asked = {"width": 320, "height": 180, "fps": 10, "duration_ms": 4000, "work_slice_ms": 1000}
    async with running_workers(empty.services, workers=2):
        info = await empty.render(html, **asked)
        assert info["status"] == "failed"
        assert (await empty.client.delete(f"{RENDERS}/{info['id']}")).status_code == 200
        # The second worker may still be at a slice: with this render it has come to its end.
        for _ in range(2):
            assert (await empty.render("<p>x", **SMALL))["status"] == "complete"
    assert blobs_of(empty, info["id"]) == []


# --- md5 ----------------------------------------------------------------------------------------


@pytest.mark.spec("2.5")
async def test_a_render_is_found_by_md5_in_any_spelling(app: AppHarness) -> None:
    render_id = await app.create(html="<p>x", md5=MD5)
    plain = MD5.replace("-", "")
    for written in (MD5, MD5.lower(), MD5.upper(), plain, plain.lower(), plain.upper()):
        answer = await app.client.get(f"{RENDERS}/md5/{written}")
        assert answer.status_code == 200
        assert answer.json() == await app.info(render_id)
        assert answer.json()["md5"] == MD5


async def test_the_newest_render_of_an_md5_is_found(app: AppHarness) -> None:
    """Creating never looks one up: each is a render of its own."""
    md5 = uuid4().hex
    first, second = [await app.create(html="<p>x", md5=each) for each in (md5, str(UUID(md5)))]
    assert first != second
    found = (await app.client.get(f"{RENDERS}/md5/{md5}")).json()
    assert (found["id"], found["md5"]) == (second, str(UUID(md5)))
    await app.client.delete(f"{RENDERS}/{second}")
    assert (await app.client.get(f"{RENDERS}/md5/{md5}")).json()["id"] == first


@pytest.mark.spec("7")
async def test_an_unknown_md5_is_not_found(app: AppHarness) -> None:
    md5 = uuid4().hex
    await (await app.other_organization()).create(html="<p>x", md5=md5)
    await app.create(html="<p>none")
    for name in (md5, "nonsense", "-", "x" * 500):
        answer = await app.client.get(f"{RENDERS}/md5/{name}")
        assert (answer.status_code, answer.json()["error"]) == (404, "render_not_found")
        assert len(answer.content) < 1000


# --- expiry -------------------------------------------------------------------------------------


@pytest.fixture
def clock(app: AppHarness) -> SettableClock:
    return SettableClock(app.services.clock.now())


@pytest.fixture
def services(app: AppHarness, clock: SettableClock) -> Services:
    """The services at another time."""
    parts = app.services
    renders = Renders(
        parts.database,
        jobs=parts.jobs,
        blobs=parts.blobs,
        notifications=parts.notifications,
        clock=clock,
        events=RenderEvents(parts.outbox, base_url="http://kiln.test"),
        quotas=parts.quotas,
    )
    return replace(parts, renders=renders, clock=clock)


async def create_expiring(app: AppHarness, status: RenderStatus, *, in_s: int) -> str:
    expires_at = app.services.clock.now() + timedelta(seconds=in_s)
    render_id = await app.create(html="<p>x", expires_at=expires_at.isoformat())
    await add_parts(app, render_id)
    await force(app, render_id, status)
    return render_id


@pytest.mark.spec("3.1", "8")
async def test_expired_renders_are_removed(
    app: AppHarness, services: Services, clock: SettableClock
) -> None:
    expired = {status: await create_expiring(app, status, in_s=1800) for status in S}
    later = await create_expiring(app, S.COMPLETE, in_s=7200)
    permanent = await app.create(html="<p>x")
    await force(app, permanent, S.COMPLETE)
    await remove_expired(services)
    assert all([await rows_of(app, each) == [1, 1, 1] for each in expired.values()])
    clock.advance(timedelta(hours=1))
    assert await services.renders.remove_expired() == len(AT_REST)
    for status, render_id in expired.items():
        if status.is_active:
            assert await rows_of(app, render_id) == [1, 1, 1]
            assert len(blobs_of(app, render_id)) > 1
        else:
            assert await rows_of(app, render_id) == [0, 0, 0]
            assert blobs_of(app, render_id) == []
    for render_id in (later, permanent):
        assert (await app.info(render_id))["status"] == "complete"
    # One that was worked on goes when that has come to its end.
    await force(app, expired[S.RENDERING], S.COMPLETE)
    assert await services.renders.remove_expired() == 1
    assert blobs_of(app, expired[S.RENDERING]) == []
    for status in (S.QUEUED, S.RECOVERING):
        await force(app, expired[status], S.FAILED)
    assert await services.renders.remove_expired() == 2


async def test_many_expired_renders_are_removed_in_batches(
    app: AppHarness, services: Services, clock: SettableClock
) -> None:
    expires_at = (app.services.clock.now() + timedelta(minutes=30)).isoformat()
    caller_renders = [await app.create(expires_at=expires_at) for _ in range(101)]
    clock.advance(timedelta(hours=1))
    assert await services.renders.remove_expired() == 100
    assert await services.renders.remove_expired() == 1
    left = [await rows_of(app, render_id) for render_id in caller_renders]
    assert left == [[0, 0, 0]] * 101


@pytest.mark.spec("3.1")
async def test_a_bundle_for_an_expired_render_is_404(
    app: AppHarness, services: Services, clock: SettableClock
) -> None:
    expires_at = (app.services.clock.now() + timedelta(minutes=30)).isoformat()
    render_id = await app.create(expires_at=expires_at)
    clock.advance(timedelta(hours=1))
    assert await services.renders.remove_expired() == 1
    answer = await app.client.post(f"{RENDERS}/{render_id}/upload", content=b"\x1f\x8b")
    assert answer.status_code == 404
    assert (
        await services.render_worker.start(RenderId(UUID(render_id)), job_id=1, attempt=1) is None
    )
