"""Transcripts as they are kept in the blob store."""

import json

from framekiln.speech.captions import from_document
from framekiln.speech.model import Transcript
from framekiln.storage.blob_store import BlobStore


async def read_transcript(blobs: BlobStore, key: str) -> Transcript:
    """Return what was kept under a key."""
    return from_document(json.loads(await blobs.get(key)))
