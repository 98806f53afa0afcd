"""A blob and the row that leads to it: the blob is there first, and goes if the row is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from framekiln.kit.errors import Unavailable
from framekiln.storage.blob_store import BlobStore


@asynccontextmanager
async def recording(blobs: BlobStore, key: str) -> AsyncIterator[None]:
    """Around the transaction that records a blob: take the blob away again if it fails."""
    try:
        yield
    except Unavailable:
        # It may be recorded all the same, and only the answer was lost: then the blob is needed.
        raise
    except Exception:
        await blobs.delete(key)
        raise
