"""Stretches of raw samples, by their times."""

from pathlib import Path

import numpy as np

from framekiln.speech.transcriber import slice_with_margins
from framekiln.storage.blob_store import memory_blob_store
from framekiln.storage.keys import TrackedKey
from framekiln.transcripts.samples import duration_ms, read_local, read_slice

# Sample n has the value n.
RAMP = np.arange(30_000, dtype="<i2")


def test_a_range_of_samples_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    RAMP.tofile(path)
    assert duration_ms(len(RAMP)) == 1875
    heard = read_local(path, 100, 200)
    assert heard.dtype == np.float32
    assert (heard * 32_768).tolist() == list(range(1600, 3200))
    assert len(read_local(path, 1800, 5000)) == 75 * 16


async def test_a_slice_of_a_blob_is_read_with_its_margins() -> None:
    blobs = memory_blob_store()
    await blobs.put(TrackedKey("samples"), np.tile(RAMP, 20).tobytes())
    part = slice_with_margins(22_000, 44_000, duration_ms=37_500)
    assert (part.first_ms, part.end_ms + part.tail_ms) == (19_000, 37_500)
    heard = await read_slice(blobs, "samples", part)
    assert len(heard) == 18_500 * 16
    assert heard[0] * 32_768 == 19_000 * 16 % 30_000
