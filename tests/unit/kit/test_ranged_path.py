"""Files elsewhere, read like files here."""

import hashlib
import random
from pathlib import Path

import pytest

from framekiln.engine.assets import LocalAsset
from framekiln.engine.page_api import md5_of
from framekiln.kit.content_version import ContentVersion, SourceChanged, version_of_part
from framekiln.kit.ranged_path import BLOCK_BYTES, MAX_AHEAD, RangedPath, SparseCopy, ranged_path

CONTENT = random.Random(7).randbytes(40 * BLOCK_BYTES + 123)


class Origin:
    """Where the content lies; notes what is fetched from it."""

    def __init__(self, path: Path) -> None:
        self.fetched: list[tuple[int, int]] = []
        self.path = ranged_path(path, SparseCopy(path, len(CONTENT), self._get))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """What was fetched: the first block, and how many."""
        return [
            (start // BLOCK_BYTES, -(-(end - start) // BLOCK_BYTES)) for start, end in self.fetched
        ]

    def _get(self, start: int, end: int) -> bytes:
        self.fetched.append((start, end))
        return CONTENT[start:end]


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "copy")


def test_every_way_to_read_it_gives_its_bytes(origin: Origin) -> None:
    assert origin.path.stat().st_size == len(CONTENT)
    assert origin.path.read_bytes() == CONTENT
    asset = LocalAsset(origin.path, "video/mp4")
    assert md5_of(asset).replace("-", "") == hashlib.md5(CONTENT).hexdigest()
    # The second time, all of it is there.
    assert sum(end - start for start, end in origin.fetched) == len(CONTENT)


def test_only_what_is_read_is_fetched(origin: Origin) -> None:
    with origin.path.open("rb") as file:
        file.seek(-50, 2)
        assert file.read() == CONTENT[-50:]
        file.seek(10 * BLOCK_BYTES + 5)
        assert file.read(100) == CONTENT[10 * BLOCK_BYTES + 5 :][:100]
    assert origin.blocks == [(40, 1), (10, 1)]


def test_sequential_reads_fetch_larger_ranges(origin: Origin) -> None:
    reader = origin.path.reader()
    read = b"".join(iter(lambda: reader.read(5000), b""))
    assert read == CONTENT
    counts = [count for _, count in origin.blocks]
    assert counts == [1, 2, 4, 8, MAX_AHEAD, 10]


def test_random_reads_are_right(origin: Origin) -> None:
    reader, chance = origin.path.reader(), random.Random(11)
    for _ in range(300):
        start, count = chance.randrange(len(CONTENT)), chance.randrange(1, 2 * BLOCK_BYTES)
        reader.seek(start)
        data = reader.read(count)
        assert data
        assert data == CONTENT[start : start + len(data)]


def test_a_local_only_reader_fetches_nothing(origin: Origin) -> None:
    reader = origin.path.reader()
    assert reader.read(10) == CONTENT[:10]
    reader.is_local_only = True
    reader.seek(BLOCK_BYTES - 5)
    assert reader.read(10) == CONTENT[BLOCK_BYTES - 5 : BLOCK_BYTES]
    assert reader.read(10) == bytes(10)
    assert origin.blocks == [(0, 1)]


def test_an_existing_file_of_the_same_name_is_unchanged(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"whole")
    (tmp_path / "copy").hardlink_to(tmp_path / "blob")
    assert Origin(tmp_path / "copy").path.read_bytes() == CONTENT
    assert (tmp_path / "blob").read_bytes() == b"whole"


def test_neighbouring_paths_are_ordinary_files(origin: Origin) -> None:
    beside = origin.path.with_name("other")
    beside.write_text("here")
    assert beside.read_text() == "here"
    assert not isinstance(beside, RangedPath) or beside.blocks is None


def test_a_range_has_the_version_of_its_content() -> None:
    headers = {"content-range": "bytes 5-9/100", "etag": '"a"'}
    assert version_of_part(206, headers, 5) == ContentVersion(100, '"a"', None)
    assert version_of_part(206, headers, 4) is None
    assert version_of_part(200, headers, 5) is None
    assert version_of_part(206, {"content-range": "bytes 5-9/*"}, 5) is None


@pytest.mark.parametrize(
    ("version", "condition"),
    [
        (ContentVersion(1, '"a"', "Mon"), '"a"'),
        (ContentVersion(1, 'W/"a"', "Mon"), "Mon"),
        (ContentVersion(1, 'W/"a"', None), None),
    ],
)
def test_weak_etags_are_not_used_as_conditions(
    version: ContentVersion, condition: str | None
) -> None:
    assert version.condition == condition
    assert version.is_certain


def test_another_version_is_refused() -> None:
    version = ContentVersion(100, '"a"', None)
    assert not ContentVersion(100, None, None).is_certain
    version.check(ContentVersion(100, '"a"', None), "x.example")
    for other in (None, ContentVersion(101, '"a"', None), ContentVersion(100, '"b"', None)):
        with pytest.raises(SourceChanged, match=r"x\.example: the source changed"):
            version.check(other, "x.example")
