"""Copies of cached parts: a few at a time, and none goes on after an error."""

import asyncio
from pathlib import Path

import pytest
from obstore.store import LocalStore

from framekiln.kit.ids import OrganizationId
from framekiln.renders.cache import PartCache
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import StorageUnavailable
from framekiln.storage.keys import TrackedKey, new_key
from tests.support.app import AppHarness
from tests.support.timeouts import TIMEOUT_S

DIGEST = "sha256:part"


class CountedBlobs(BlobStore):
    """Counts the copies that run now, and the most that ran at a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LocalStore(folder, mkdir=True))
        self.running = self.most = 0
        self.may_copy = asyncio.Event()
        self.may_copy.set()

    async def copy(self, key: str, to_key: TrackedKey) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await super().copy(key, to_key)
            await self.may_copy.wait()
        finally:
            self.running -= 1


@pytest.fixture
def blobs(tmp_path: Path) -> CountedBlobs:
    return CountedBlobs(tmp_path / "blobs")


@pytest.fixture
async def owner(app: AppHarness) -> OrganizationId:
    other = await app.other_organization()
    return (await app.services.identity.authenticate(other.key)).organization.id


@pytest.fixture
async def cache(app: AppHarness, owner: OrganizationId, blobs: CountedBlobs) -> PartCache:
    """A cache with one part."""
    await blobs.put(TrackedKey("part"), b"a slice")
    cache = PartCache(app.services.database, blobs, app.services.clock)
    await cache.add(owner, DIGEST, key="part", record={"number": 1})
    return cache


async def test_a_long_film_copies_few_parts_at_a_time(
    cache: PartCache, owner: OrganizationId, blobs: CountedBlobs
) -> None:
    keys = [new_key("film", str(number)) for number in range(100)]
    made = await cache.copy_all(owner, dict.fromkeys(keys, DIGEST))
    assert made == {key: {"number": 1} for key in keys}
    assert [await blobs.get(key) for key in keys] == [b"a slice"] * 100
    assert 1 < blobs.most <= 16


async def test_no_copy_goes_on_after_an_error(
    cache: PartCache, owner: OrganizationId, blobs: CountedBlobs
) -> None:
    # A folder in which nothing can be made.
    await blobs.put(TrackedKey("file"), b"")
    blobs.may_copy.clear()
    keys = [new_key(folder, "part") for folder in ("film", "file", "film")]
    async with asyncio.timeout(TIMEOUT_S):
        with pytest.raises(StorageUnavailable):
            await cache.copy_all(owner, dict.fromkeys(keys, DIGEST))
    assert blobs.running == 0
