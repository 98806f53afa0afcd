"""Blobs whose process died before it recorded them: they are deleted a day later, and no others."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import psycopg
import pytest

from framekiln.files import ingested_asset_store
from framekiln.files.ingest import Ingest
from framekiln.files.model import IngestedAsset, ingested_asset_key, thumbnails_key
from framekiln.kit.ids import FileId, OrganizationId, RenderId, new_uuid
from framekiln.playback import store as playback_store
from framekiln.playback.model import NO_TRACKS, SegmentName, segment_key
from framekiln.playback.service import RETENTION
from framekiln.playback.sources import _new_source
from framekiln.renders.model import Redaction, render_prefix
from framekiln.renders.reserved_ids import ReservedRenderIds
from framekiln.storage.blob_store import BlobStore, memory_blob_store, open_blob_store
from framekiln.storage.deletions import REFUSED_FOR, BlobDeletions
from framekiln.storage.keys import TrackedKey
from framekiln.storage.new_blobs import RECORDED_WITHIN, NewBlobs
from tests.contract.test_blob_store import BUCKET, KINDS, keys_under
from tests.support.app import AppHarness
from tests.support.clock import SettableClock
from tests.support.killed_workers import kill_worker_with_job
from tests.support.unrecorded_blobs import delete_unrecorded
from tests.support.uploads import FILES, create, upload_file

NOW, WEEK = datetime(2030, 1, 1, tzinfo=UTC), timedelta(days=7)
VTT = b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"
NO_BLOBS = {"idempotency_key", "step_key", "error_step_key"}
# Each task stores something with code of the service and stops there: nothing is recorded.
VICTIM = """
import asyncio, sys, tarfile
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4
from framekiln.api.app import create_app
from framekiln.kit.ids import FileId, OrganizationId, RenderId
from framekiln.renders.model import Redaction
from framekiln.services import Services
from framekiln.settings import Settings
from framekiln.storage.blob_store import BlobStore
from tests.support.app import AppHarness
from tests.support.uploads import send_chunk

stored = asyncio.Semaphore(0)

def held(method):
    async def store(*of):
        await method(*of)
        stored.release()
        await asyncio.sleep(600)
    return store

async def main():
    data, key, owner, file_id, render_id = sys.argv[2:]
    owner, upload = OrganizationId(UUID(owner)), f"/api/v1/files/{file_id}/upload"
    path, bundle = Path(data, "index.html"), Path(data, "bundle")
    path.write_bytes(b"<p>x")
    with tarfile.open(bundle, "w:gz") as archive:
        archive.add(path, "index.html")
    async with Services.open(Settings(data=Path(data)), sys.argv[1]) as services:
        app = AppHarness(services, create_app(services), key=key)
        for name in ("put", "put_file", "copy"):
            setattr(BlobStore, name, held(getattr(BlobStore, name)))
        ways = [
            app.create(html="<p>x"),
            app.client.post(f"/api/v1/renders/{render_id}/upload", content=bundle.read_bytes()),
            send_chunk(app, upload, bytes(100_000), start=0, total=200_000),
            services.ingest.store(
                owner, "https://x.test/", path, content_type=None, retention=timedelta(hours=1)
            ),
            services.part_cache.add(owner, "digest", key=f"org/{owner}/made", record={}),
            services.renders.create_redaction(
                owner,
                Redaction(FileId(UUID(file_id)), (), ()),
                render_id=RenderId(uuid4()),
                api_key_id=None,
                duration_ms=0,
            ),
        ]
        tasks = [asyncio.ensure_future(way) for way in ways]
        for _ in tasks:
            await stored.acquire()
        print("holding", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""

# It has completed the upload, and stops before it deletes the parts.
LATER_VICTIM = """
import asyncio, sys
from pathlib import Path
from framekiln.api.app import create_app
from framekiln.services import Services
from framekiln.settings import Settings
from framekiln.storage.deletions import BlobDeletions
from tests.support.app import AppHarness
from tests.support.uploads import upload_file

async def hold(*paths):
    print("holding", flush=True)
    await asyncio.sleep(600)

async def main():
    async with Services.open(Settings(data=Path(sys.argv[2])), sys.argv[1]) as services:
        BlobDeletions.run = hold
        app = AppHarness(services, create_app(services), key=sys.argv[3])
        await upload_file(app, b"WEBVTT", type="caption")

asyncio.run(main())
"""


@pytest.fixture
async def owner(app: AppHarness) -> AppHarness:
    return await app.other_organization()


async def id_of(app: AppHarness) -> OrganizationId:
    return (await app.services.identity.authenticate(app.key)).organization.id


async def stored(app: AppHarness) -> set[str]:
    return set(await keys_under(app.services.blobs, f"org/{await id_of(app)}"))


async def test_what_a_killed_process_stored_is_deleted_a_day_later(owner: AppHarness) -> None:
    services, owner_id = owner.services, await id_of(owner)
    await services.blobs.put(TrackedKey(f"org/{owner_id}/made"), b"a part of a film")
    file_id = (await create(owner, byte_size=200_000))["id"]
    render_id = await owner.create()
    before = await stored(owner)
    await kill_worker_with_job(owner, VICTIM, owner.key, str(owner_id), file_id, render_id)
    assert sorted(key.split("/")[2] for key in await stored(owner) - before) == [
        "assets",
        "files",
        "kept",
        "renders",
        "renders",
        "renders",
    ]
    await services.blob_deletions.run_all()
    assert len(await stored(owner)) == len(before) + 6, "it may still be recorded"
    await delete_unrecorded(services, f"org/{owner_id}")
    assert await stored(owner) == before


async def test_parts_are_deleted_although_the_process_died_when_they_were_joined(
    owner: AppHarness,
) -> None:
    await kill_worker_with_job(owner, LATER_VICTIM, owner.key)
    assert len(await stored(owner)) == 2
    await owner.services.blob_deletions.run_all()
    assert [key.rpartition("/")[2] for key in await stored(owner)] == ["source"]


async def test_what_is_recorded_is_kept(owner: AppHarness, tmp_path: Path) -> None:
    """Also what is recorded under a folder that was registered, and what is copied."""
    owner_id = await id_of(owner)
    render_id = await owner.create(html="<p>x", data={"name": "Ada"})
    again = await owner.client.post(f"/api/v1/renders/{render_id}/again")
    await upload_file(owner, VTT, type="caption")
    (tmp_path / "asset").write_bytes(b"x")
    await owner.services.ingest.store(
        owner_id, "https://x.test/", tmp_path / "asset", content_type=None, retention=WEEK
    )
    before = await stored(owner)
    await delete_unrecorded(owner.services, f"org/{owner_id}")
    assert await stored(owner) == before
    assert (again.status_code, len(before)) == (201, 6)


async def test_a_blob_that_is_deleted_cannot_be_recorded(owner: AppHarness, tmp_path: Path) -> None:
    """As by a process that was stopped for more than a day."""
    services, owner_id = owner.services, await id_of(owner)
    path = tmp_path / "asset"
    path.write_bytes(b"x")

    class StoppedForADay(BlobStore):
        async def put_file(self, key: TrackedKey, path: Path) -> None:
            await delete_unrecorded(services, f"org/{owner_id}")
            await services.blobs.put_file(key, path)

    ingest = Ingest(
        services.database,
        locks=services.locks,
        blobs=StoppedForADay(services.blobs._store),
        fetcher=services.fetcher,
        clock=services.clock,
        quotas=services.quotas,
    )
    url = "https://x.test/"
    with pytest.raises(psycopg.errors.RaiseException, match="not recorded in time"):
        await ingest.store(owner_id, url, path, content_type=None, retention=WEEK)
    assert await services.ingest.find(owner_id, url) is None
    assert await stored(owner) == set()


async def test_a_redaction_that_exists_keeps_its_blob(owner: AppHarness) -> None:
    """And leaves none of the second attempt, nor its registration."""
    services, owner_id, render_id = owner.services, await id_of(owner), RenderId(uuid4())
    for _ in range(2):
        render = await services.renders.create_redaction(
            owner_id,
            Redaction(FileId(uuid4()), (), ()),
            render_id=render_id,
            api_key_id=None,
            duration_ms=0,
        )
    assert await stored(owner) == {render.source_key}
    assert await registered(owner) == []


async def test_ids_are_reserved_a_few_at_a_time(owner: AppHarness) -> None:
    """A statement for each render would cost a tenth of the request."""
    owner_id, clock = await id_of(owner), SettableClock()
    new_blobs = NewBlobs(owner.services.database, owner.services.blobs, clock)
    ids = ReservedRenderIds(new_blobs, clock)
    taken, counts = set[RenderId](), set[int]()
    for _ in range(500):
        taken.add(await ids.take(owner_id))
        counts.add(len(await registered(owner)))
    assert (len(taken), len(counts), max(counts)) == (500, 12, 510)
    # Those that are left are not used when they may be deleted soon.
    clock.advance(timedelta(hours=1))
    render_id = await ids.take(owner_id)
    assert len(await registered(owner)) == 512
    assert f"{render_prefix(owner_id, render_id)}/" in await registered(owner)


async def registered(owner: AppHarness) -> list[str]:
    async with owner.services.database.connection() as connection:
        query = "SELECT path FROM unrecorded_blob WHERE starts_with(path, %s)"
        cursor = await connection.execute(query, (f"org/{await id_of(owner)}/",))
        return [row["path"] for row in await cursor.fetchall()]


@pytest.mark.parametrize("what", ["file", "expired file", "render", "playback"])
async def test_what_is_stored_for_a_deleted_owner_is_deleted_a_day_later(
    owner: AppHarness, what: str
) -> None:
    """As by a worker that was killed before it noticed that the owner is deleted."""
    services, owner_id = owner.services, await id_of(owner)
    late = await DELETED[what](owner)
    await services.blobs.put(late, b"late")
    await services.blob_deletions.run_all()
    assert await stored(owner) == {late}
    await delete_unrecorded(services, f"org/{owner_id}")
    assert await stored(owner) == set()


async def deleted_file(owner: AppHarness) -> TrackedKey:
    file_id = (await upload_file(owner, VTT, type="caption"))["id"]
    (await owner.client.delete(f"{FILES}/{file_id}")).raise_for_status()
    return thumbnails_key(await id_of(owner), FileId(UUID(file_id)))


async def expired_file(owner: AppHarness) -> TrackedKey:
    file_id = (await upload_file(owner, VTT, type="caption"))["id"]
    async with owner.services.database.connection() as connection:
        await connection.execute("UPDATE file SET expires_at = now() WHERE id = %s", (file_id,))
    assert await owner.services.files.remove_expired() == 1
    return thumbnails_key(await id_of(owner), FileId(UUID(file_id)))


async def deleted_render(owner: AppHarness) -> TrackedKey:
    render_id = await owner.create(html="<p>x")
    (await owner.client.delete(f"/api/v1/renders/{render_id}")).raise_for_status()
    return TrackedKey(f"{render_prefix(await id_of(owner), RenderId(UUID(render_id)))}/poster.jpg")


async def deleted_source(owner: AppHarness) -> TrackedKey:
    services, long_ago = owner.services, owner.services.clock.now() - 2 * RETENTION
    source = _new_source(await id_of(owner), "https://x.test/", NO_TRACKS, now=long_ago)
    async with services.database.transaction() as connection:
        await playback_store.insert(connection, source)
    assert await services.playback.remove_unused() == 1
    return segment_key(source, SegmentName("audio", 1))


DELETED = {
    "file": deleted_file,
    "expired file": expired_file,
    "render": deleted_render,
    "playback": deleted_source,
}


class SlowBlobs(BlobStore):
    """Pauses at random, so that what runs at the same time comes in another order each time."""

    def __init__(self, store: BlobStore, dice: Random) -> None:
        super().__init__(store._store, folder=store._folder)
        self._dice = dice

    async def put_file(self, key: TrackedKey, path: Path) -> None:
        await self._pause()
        await super().put_file(key, path)
        await self._pause()

    async def delete(self, key: str) -> None:
        await self._pause()
        await super().delete(key)

    async def _pause(self) -> None:
        await asyncio.sleep(self._dice.random() * 0.01)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    if request.param == "memory":
        return memory_blob_store()
    bucket = f"{BUCKET}/{uuid4()}" if request.param == "bucket" else None
    return open_blob_store(bucket, folder=tmp_path / "blobs")


@pytest.mark.parametrize("seed", range(3))
async def test_a_blob_is_stored_exactly_as_long_as_a_row_names_it(
    owner: AppHarness, store: BlobStore, tmp_path: Path, seed: int
) -> None:
    """Many are stored while what is due is deleted: some recorded, some too late, some never."""
    services, owner_id, dice = owner.services, await id_of(owner), Random(seed)
    clock, blobs = SettableClock(services.clock.now()), SlowBlobs(store, dice)
    deletions = BlobDeletions(services.database, blobs, clock)
    new_blobs = NewBlobs(services.database, blobs, clock)
    path = tmp_path / "asset"
    path.write_bytes(b"x")
    urls = [f"https://x.test/{number}" for number in range(50)]
    # Less than a week in all: for so long it is known what is deleted.
    days_pass_at, forgotten = dice.sample(urls, 6), dice.sample(urls, 10)
    refused = list[str]()

    async def store_some(urls: list[str]) -> None:
        for url in urls:
            key = ingested_asset_key(owner_id, new_uuid())
            await new_blobs.put_file(key, path)
            if url in days_pass_at:
                clock.advance(1.1 * RECORDED_WITHIN)
                await deletions.run_all()
            if url in forgotten:
                continue
            asset = IngestedAsset(
                new_uuid(), owner_id, url, key, "", 1, created_at=NOW, expires_at=NOW + WEEK
            )
            try:
                async with services.database.transaction() as connection:
                    await ingested_asset_store.insert(connection, asset)
                    await asyncio.sleep(dice.random() * 0.01)
            except psycopg.errors.RaiseException:
                refused.append(url)

    async def delete_what_is_due() -> None:
        while True:
            await deletions.run_all()

    sweeping = asyncio.create_task(delete_what_is_due())
    await asyncio.gather(*(store_some(urls[at::5]) for at in range(5)))
    sweeping.cancel()
    await asyncio.wait([sweeping])
    clock.advance(2 * RECORDED_WITHIN)
    await deletions.run_all()
    # What was still being stored when it was deleted.
    clock.advance(REFUSED_FOR)
    await deletions.run_all()
    async with services.database.connection() as connection:
        query = "SELECT blob_key, url FROM ingested_asset WHERE organization_id = %s"
        rows = await (await connection.execute(query, (owner_id,))).fetchall()
    assert set(await keys_under(store, f"org/{owner_id}")) == {row["blob_key"] for row in rows}
    recorded = {row["url"] for row in rows}
    assert recorded.isdisjoint(refused)
    assert recorded | set(refused) == set(urls) - set(forgotten)
    assert set(refused) >= set(days_pass_at) - set(forgotten)
    assert recorded, "all were too late"


async def test_every_column_that_names_blobs_takes_their_registrations_away(
    app: AppHarness,
) -> None:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            """
            SELECT table_name || '.' || column_name AS place FROM information_schema.columns
            WHERE table_schema = 'public' AND data_type = 'text' AND column_name LIKE '%%\\_key'
                AND table_name NOT LIKE 'procrastinate%%'
            """
        )
        places = {row["place"] for row in await cursor.fetchall()}
        cursor = await connection.execute(
            """
            SELECT event_object_table || '.' || event_object_column AS place
            FROM information_schema.triggered_update_columns
            WHERE trigger_name LIKE 'record\\_%%'
            """
        )
        triggered = {row["place"] for row in await cursor.fetchall()}
    assert {each for each in places - triggered if each.partition(".")[2] not in NO_BLOBS} == {
        # They name blobs of files and assets.
        "playback_source.pictures_key",
        "playback_source.sound_key",
    }
    assert triggered <= places
