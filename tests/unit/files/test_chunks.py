"""Bodies are cut into parts that leave no gap, whatever comes in whatever pieces."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framekiln.api.v1.uploads import chunk_of
from framekiln.files import chunks as chunks_module
from framekiln.files.chunks import Chunk, PartCutter
from framekiln.files.errors import ChunkMismatch, UploadGap

DATA = bytes(range(256)) * 4
PART_BYTES = 50


class StoredParts:
    """Stands for what is stored: takes parts as the store does, also while others write."""

    def __init__(self, next_byte: int, ahead: list[int]) -> None:
        self.content = bytearray(DATA[:next_byte])
        self.sizes: list[int] = []
        self._ahead = ahead

    async def keep(self, first_byte: int, data: bytes) -> int:
        assert first_byte <= len(self.content), "a gap"
        assert data == DATA[first_byte : first_byte + len(data)]
        self.sizes.append(len(data))
        self.content += data[len(self.content) - first_byte :]
        if self._ahead:
            # Another writer sends the same, and has come further.
            self.content += DATA[len(self.content) :][: self._ahead.pop()]
        return len(self.content)


@given(
    pieces=st.lists(st.integers(0, 200), max_size=12),
    start=st.integers(0, 300),
    next_byte=st.integers(0, 300),
    ahead=st.lists(st.integers(0, 120), max_size=6),
)
def test_parts_contain_every_byte_once(
    pieces: list[int], start: int, next_byte: int, ahead: list[int]
) -> None:
    start = min(start, next_byte)
    kept = StoredParts(next_byte, ahead)
    end = min(len(DATA), start + sum(pieces))

    async def cut() -> None:
        cutter = PartCutter(kept.keep, start=start, end=len(DATA), next_byte=next_byte)
        at = start
        for size in pieces:
            await cutter.add(DATA[at : min(end, at + size)])
            at = min(end, at + size)
        await cutter.finish()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks_module, "PART_BYTES", PART_BYTES)
        asyncio.run(cut())
    assert bytes(kept.content) == DATA[: len(kept.content)]
    assert len(kept.content) >= end
    assert all(size <= PART_BYTES for size in kept.sizes)


async def test_the_last_part_is_stored_only_when_the_body_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks_module, "PART_BYTES", PART_BYTES)
    kept = StoredParts(0, [])
    cutter = PartCutter(kept.keep, start=0, end=100, next_byte=0)
    await cutter.add(DATA[:100])
    assert len(kept.content) == 50
    with pytest.raises(ChunkMismatch, match="continues after byte 100"):
        await cutter.add(b"x")
    assert (len(kept.content), cutter.position) == (50, 100)


async def test_a_small_remainder_is_not_stored() -> None:
    kept = StoredParts(0, [])
    cutter = PartCutter(kept.keep, start=0, end=100, next_byte=0)
    await cutter.add(DATA[:20])
    await cutter.finish(at_least=21)
    assert kept.sizes == []
    await cutter.finish(at_least=20)
    assert kept.sizes == [20]


@pytest.mark.parametrize(
    ("header", "length", "chunk"),
    [
        (None, "", Chunk()),
        (None, "5", Chunk(length=5)),
        ("bytes 0-4/10", "5", Chunk(0, 5, total=10, length=5)),
        ("bytes=5-9/10", "", Chunk(5, 10, total=10)),
        (" BYTES = 5-9/* ", "", Chunk(5, 10)),
        ("bytes */10", "0", Chunk(0, 0, total=10, length=0)),
    ],
)
def test_chunk_headers_are_parsed(header: str | None, length: str, chunk: Chunk) -> None:
    assert chunk_of(header, length) == chunk


@pytest.mark.parametrize(
    "header", ["", "bytes", "bytes 0-4", "bytes 4-0/10", "bytes -4/10", "0-4/10", "bytes 0-4/ten"]
)
def test_malformed_range_headers_are_refused(header: str) -> None:
    with pytest.raises(ChunkMismatch):
        chunk_of(header, "")


def test_chunk_bounds_are_checked() -> None:
    assert Chunk(3, 7).check(byte_size=10, next_byte=3) == 7
    assert Chunk(0, 7).check(byte_size=10, next_byte=9) == 7
    assert Chunk(length=4).check(byte_size=10, next_byte=0) == 10
    with pytest.raises(UploadGap) as gap:
        Chunk(4, 7).check(byte_size=10, next_byte=3)
    assert gap.value.details["next_byte"] == 3
    for wrong in (Chunk(0, 11), Chunk(0, 5, total=11), Chunk(0, 5, length=4), Chunk(length=11)):
        with pytest.raises(ChunkMismatch):
            wrong.check(byte_size=10, next_byte=0)
