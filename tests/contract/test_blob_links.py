"""Blobs at a local path, to be read: those of a folder are not copied."""

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from framekiln.kit.confined.job_folders import open_job_folders
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.pause import PauseSwitch
from framekiln.kit.confined.run import run_confined
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.source import probe_source
from framekiln.media.segments.tasks import OUTLINE_TASK, SEGMENT_TASK
from framekiln.media.task_names import PROBE_SOURCE_TASK as PROBE_TASK
from framekiln.playback.segment_worker import (
    SegmentWorker,
    SourceFiles,
    SourceTask,
    open_segment_worker,
)
from framekiln.storage.blob_store import BlobStore, memory_blob_store, open_blob_store
from framekiln.storage.errors import BlobKeyInvalid, BlobNotFound
from framekiln.storage.keys import TrackedKey
from framekiln.worker.media_sandbox import open_media_sandbox
from tests.support.clips import Clip, make_clip
from tests.support.timeouts import TIMEOUT_S

KEY = "org/1/file/2/source"
LIMITS = ResourceLimits(cpu_s=120, memory_bytes=2 << 30, file_bytes=16 << 20, wall_s=TIMEOUT_S)


def set_mode(path: Path, mode: int) -> None:
    path.chmod(mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def place_of_blob(tmp_path: Path) -> Path:
    """Where the folder has it."""
    return tmp_path / "blobs" / KEY


@pytest.fixture
async def blobs(tmp_path: Path) -> BlobStore:
    store = open_blob_store(None, folder=tmp_path / "blobs")
    await store.put(TrackedKey(KEY), b"first")
    set_mode(place_of_blob(tmp_path), 0o644)
    return store


@pytest.fixture
def other_filesystem(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system that can be written to")
    with TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


class TestLinks:
    async def test_a_blob_of_a_folder_is_not_copied(self, blobs: BlobStore, tmp_path: Path) -> None:
        blob = place_of_blob(tmp_path)
        path = tmp_path / "out"
        await blobs.get_to_read(KEY, path)
        assert path.samefile(blob)
        assert path.read_bytes() == b"first"

    async def test_a_blob_can_be_linked_to_the_same_path_again(
        self, blobs: BlobStore, tmp_path: Path
    ) -> None:
        blob = place_of_blob(tmp_path)
        path = tmp_path / "out"
        for _ in range(2):
            await blobs.get_to_read(KEY, path)
        assert path.samefile(blob)
        assert blob.stat().st_nlink == 2
        await blobs.put(TrackedKey(KEY), b"second")
        assert path.read_bytes() == b"first"
        await blobs.get_to_read(KEY, path)
        assert path.read_bytes() == b"second"

    async def test_the_local_file_remains_when_the_blob_is_deleted(
        self, blobs: BlobStore, tmp_path: Path
    ) -> None:
        await blobs.get_to_read(KEY, tmp_path / "out")
        await blobs.delete(KEY)
        assert (tmp_path / "out").read_bytes() == b"first"

    async def test_the_blob_remains_when_the_local_path_is_removed_or_replaced(
        self, blobs: BlobStore, tmp_path: Path
    ) -> None:
        path = tmp_path / "out"
        await blobs.put(TrackedKey("other"), b"other")
        await blobs.get_to_read(KEY, path)
        await blobs.get_to_file("other", path)
        assert (path.read_bytes(), await blobs.get(KEY)) == (b"other", b"first")
        await blobs.get_to_read(KEY, path)
        path.unlink()
        assert await blobs.get(KEY) == b"first"


class TestCopies:
    async def test_a_private_blob_keeps_its_mode_and_is_copied_for_children_of_root_alone(
        self, blobs: BlobStore, tmp_path: Path
    ) -> None:
        blob = place_of_blob(tmp_path)
        set_mode(blob, 0o600)
        path = tmp_path / "out"
        await blobs.get_to_read(KEY, path)
        is_copy = os.geteuid() == 0
        assert path.samefile(blob) is not is_copy
        assert path.read_bytes() == b"first"
        assert blob.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_mode & 0o777 == (0o644 if is_copy else 0o600)

    async def test_a_symbolic_link_in_the_folder_is_followed(
        self, blobs: BlobStore, tmp_path: Path
    ) -> None:
        blob = place_of_blob(tmp_path)
        blob.rename(tmp_path / "moved")
        blob.symlink_to(tmp_path / "moved")
        await blobs.get_to_read(KEY, tmp_path / "out")
        assert not (tmp_path / "out").is_symlink()
        assert (tmp_path / "out").read_bytes() == b"first"

    async def test_a_blob_is_copied_to_another_file_system(
        self, blobs: BlobStore, other_filesystem: Path
    ) -> None:
        await blobs.get_to_read(KEY, other_filesystem / "out")
        await blobs.delete(KEY)
        assert (other_filesystem / "out").read_bytes() == b"first"
        assert names_in(other_filesystem) == ["out"]

    async def test_a_blob_of_a_bucket_is_copied(self, tmp_path: Path) -> None:
        store = memory_blob_store()
        await store.put(TrackedKey(KEY), b"first")
        await store.get_to_read(KEY, tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == b"first"
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("kind", ["folder", "memory"])
async def test_an_absent_blob_raises_the_usual_error(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    store = open_blob_store(None, folder=folder) if kind == "folder" else memory_blob_store()
    with pytest.raises(BlobNotFound, match=f"'{KEY}'"):
        await store.get_to_read(KEY, tmp_path / "out")
    with pytest.raises(BlobKeyInvalid):
        await store.get_to_read("../blobs", tmp_path / "out")
    assert names_in(tmp_path) in ([], ["blobs"])


async def test_a_confined_child_reads_a_blob_in_place(blobs: BlobStore, tmp_path: Path) -> None:
    blob = place_of_blob(tmp_path)
    await blobs.put_file(
        TrackedKey(KEY), make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1)))
    )
    with open_job_folders("test") as place:
        await blobs.get_to_read(KEY, place.source)
        # Else there is nothing to see here.
        if not place.source.samefile(blob):
            pytest.skip("temporary files lie on another file system than those of the test")
        probed = await run_confined(
            PROBE_TASK,
            {"source": str(place.source)},
            limits=LIMITS,
            folder=place.folder,
            readable=[place.source],
        )
    assert ProbedSource.from_json(probed) == probe_source(blob)
    assert blob.stat().st_uid == os.geteuid()


async def made_by(workshop: SegmentWorker, rendition_id: str) -> bytes:
    """The second segment of the source, by way of a child."""
    async with workshop.sources.local(KEY) as path:
        paths = {"pictures": str(path), "sound": str(path)}
        async with workshop.run_task(
            SourceTask(OUTLINE_TASK, paths, LIMITS, (path,)), pause_switch=PauseSwitch()
        ) as done:
            renditions = {each["id"]: each for each in done[0]["renditions"]}
        args = {"source": str(path), "rendition": renditions[rendition_id], "number": 2, "out": "o"}
        async with workshop.run_task(
            SourceTask(SEGMENT_TASK, args, LIMITS, (path,)), pause_switch=PauseSwitch()
        ) as done:
            return (done[1] / "o").read_bytes()


@pytest.mark.spec("4.6")
@pytest.mark.parametrize("rendition_id", ["high", "scrub", "audio"])
async def test_segments_of_linked_and_copied_sources_are_the_same(
    blobs: BlobStore, tmp_path: Path, rendition_id: str
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(4)))
    made = []
    for store in (blobs, memory_blob_store()):
        await store.put_file(TrackedKey(KEY), clip)
        async with open_media_sandbox() as sandbox:
            workshop = open_segment_worker(store, sandbox)
            made.append(await made_by(workshop, rendition_id))
    assert made[0] == made[1]
    assert len(made[0]) > 1000


@pytest.mark.spec("4.6")
async def test_a_fetched_source_outlives_its_blob_and_an_absent_one_raises(
    blobs: BlobStore, tmp_path: Path
) -> None:
    blob = place_of_blob(tmp_path)
    (tmp_path / "kept").mkdir()
    sources = SourceFiles(blobs, tmp_path / "kept")
    async with sources.local(KEY) as path:
        assert path.samefile(blob)
        await blobs.delete(KEY)
        assert path.read_bytes() == b"first"
    async with sources.local(KEY) as path:
        assert path.read_bytes() == b"first"
    fresh = SourceFiles(blobs, tmp_path / "kept")
    with pytest.raises(BlobNotFound):
        async with fresh.local(KEY):
            pass
