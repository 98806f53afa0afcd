"""Blobs whose rows were deleted while the store failed: they are deleted when it works again."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from framekiln.kit.ids import OrganizationId
from framekiln.renders.cache import PartCache
from framekiln.storage.keys import TrackedKey
from tests.support.app import AppHarness
from tests.support.uploads import FILES, upload_file

RENDERS = "/api/v1/renders"
VTT = b"WEBVTT\n\n00:00.000 --> 00:01.000\nHello.\n"


class Owner:
    """An organization that has something to delete."""

    def __init__(self, app: AppHarness, organization_id: OrganizationId) -> None:
        self.app = app
        self.id = organization_id
        self._folder = app.services.settings.data / "blobs" / "org" / str(organization_id)

    @contextmanager
    def failing_store(self) -> Iterator[None]:
        """A file in the place of the organization's folder: nothing in it can be deleted."""
        away = self._folder.with_name(f"{self.id}-away")
        self._folder.rename(away)
        self._folder.write_bytes(b"in the way")
        try:
            yield
        finally:
            self._folder.unlink()
            away.rename(self._folder)

    async def count_blobs(self) -> int:
        return len([each async for each in self.app.services.blobs.list(f"org/{self.id}")])

    async def make(self, what: str, blob: Path) -> str:
        """Make something with a blob; return its id, if it has one."""
        services = self.app.services
        if what.endswith("render"):
            return await self.app.create(html="<p>x")
        if what == "file":
            return str((await upload_file(self.app, VTT, type="caption"))["id"])
        if what == "asset":
            await services.ingest.store(
                self.id, "https://x.test/", blob, content_type=None, retention=timedelta(0)
            )
            return ""
        source = f"org/{self.id}/made"
        await services.blobs.put_file(TrackedKey(source), blob)
        await services.part_cache.add(self.id, "digest", key=source, record={})
        await services.blobs.delete(source)
        return ""

    async def delete(self, what: str, made_id: str) -> None:
        """Delete what was made, or let it be found expired."""
        services = self.app.services
        if what in ("render", "file"):
            folder = {"render": RENDERS, "file": FILES}[what]
            answer = await self.app.client.delete(f"{folder}/{made_id}")
            assert (answer.status_code, answer.json()) == (200, {"success": True})
        elif what == "expired render":
            async with services.database.transaction() as connection:
                await connection.execute(
                    "UPDATE render SET expires_at = created_at WHERE id = %s", (made_id,)
                )
            assert await services.renders.remove_expired() == 1
        elif what == "asset":
            assert await services.ingest.remove_expired() == 1
        else:
            cache = PartCache(services.database, services.blobs, services.clock, max_bytes=0)
            assert await cache.evict_unused() == 1


@pytest.fixture
def blob(tmp_path: Path) -> Path:
    path = tmp_path / "blob"
    path.write_bytes(b"x")
    return path


@pytest.fixture
async def owner(app: AppHarness) -> AsyncIterator[Owner]:
    yield await new_owner(app)
    assert await waiting(app) == [], "nothing is left to do"


async def new_owner(app: AppHarness) -> Owner:
    other = await app.other_organization()
    found = await other.client.get("/api/v1/organization")
    return Owner(other, OrganizationId(found.json()["id"]))


async def waiting(app: AppHarness) -> list[str]:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute("SELECT path FROM blob_deletion ORDER BY path")
        return [row["path"] for row in await cursor.fetchall()]


@pytest.mark.parametrize("what", ["render", "expired render", "file", "asset", "part"])
async def test_blobs_are_deleted_when_the_store_works_again(
    owner: Owner, blob: Path, what: str
) -> None:
    made_id = await owner.make(what, blob)
    assert await owner.count_blobs() == 1
    with owner.failing_store():
        await owner.delete(what, made_id)
        await owner.app.services.blob_deletions.run_all()
    assert await owner.count_blobs() == 1
    await owner.app.services.blob_deletions.run_all()
    assert await owner.count_blobs() == 0


@pytest.mark.parametrize("what", ["render", "expired render", "file", "asset", "part"])
async def test_blobs_are_deleted_at_once(owner: Owner, blob: Path, what: str) -> None:
    made_id = await owner.make(what, blob)
    await owner.delete(what, made_id)
    assert await owner.count_blobs() == 0
    assert await waiting(owner.app) == []


async def test_a_deletion_that_fails_again_and_again_stops_no_other(
    owner: Owner, app: AppHarness
) -> None:
    """They are in the order of their paths at first; the one that fails is the first of them."""
    owners = sorted([owner, await new_owner(app)], key=lambda each: str(each.id))
    paths = [f"org/{each.id}/renders/{await each.app.create(html='<p>x')}/" for each in owners]
    async with app.services.database.transaction() as connection:
        # As if the process had been killed right after that.
        await app.services.blob_deletions.add(connection, *paths)
    failing, other = owners
    with failing.failing_store():
        for _ in range(2):
            await app.services.blob_deletions.run_all()
    assert [await each.count_blobs() for each in (failing, other)] == [1, 0]
    assert await waiting(app) == paths[:1]
    await app.services.blob_deletions.run_all()
    assert await failing.count_blobs() == 0
