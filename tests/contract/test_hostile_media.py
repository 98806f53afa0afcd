"""Files made to do harm, run through the confined tasks as uploads are.

Each must end in a clear refusal (or, where most of the file is good, in an answer), with little
memory, and with no process left.
"""

import asyncio
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.kit.confined.errors import ConfinedFailed, ConfinedKilled
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.run import run_confined
from framekiln.kit.errors import FramekilnError
from framekiln.kit.processes import foreign_children
from framekiln.media.task_names import (
    CAPTION_CHECK_TASK,
    IMAGE_FACTS_TASK,
    OVERVIEW_TASK,
    PROBE_SOURCE_TASK,
)
from tests.support.clips import Clip, make_clip
from tests.support.hostile_media import (
    gif_bomb,
    gif_of_many_large_pictures,
    many_cues,
    mislabelled_sounds,
    png_bomb,
    wav,
    with_count,
    with_picture_size,
)
from tests.support.timeouts import TIMEOUT_S, increasing_limits

LIMITS = ResourceLimits(cpu_s=60, memory_bytes=400 << 20, file_bytes=16 << 20, wall_s=TIMEOUT_S)
LITTLE_BYTES = 250 << 20
MEASURED = "tests.support.memory_task:run_measured"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = set(foreign_children())
    yield
    assert set(foreign_children()) <= before


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("clip") / "a.mp4"
    return make_clip(path, Clip(duration_s=Fraction(1), b_frames=2)).read_bytes()


async def run(task: str, source: Path) -> dict[str, Any]:
    """Run a task on a file; whatever comes of it, it took little memory."""
    folder = source.parent / "work"
    folder.mkdir()
    peaks: list[int] = []
    args = {"task": task, "source": str(source), "folder": str(folder)}
    try:
        return await run_confined(
            MEASURED,
            args,
            limits=LIMITS,
            folder=folder,
            readable=[source],
            on_report=lambda report: peaks.append(report.get("peak_bytes", 0)),
        )
    finally:
        assert 0 < max(peaks) < LITTLE_BYTES


async def refused(task: str, source: Path) -> FramekilnError:
    with pytest.raises(FramekilnError) as caught:
        await run(task, source)
    assert not isinstance(caught.value, ConfinedFailed | ConfinedKilled)
    assert str(source.parent) not in caught.value.message
    return caught.value


def archive() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a.mp4", "ftyp")
    return file.getvalue()


HOSTILE_IMAGES = {
    "nothing": b"",
    "a PNG bomb": png_bomb(),
    "a WebP bomb": b"RIFF\x64\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0" + b"\xfe\x3f\0" * 2,
    "a GIF bomb": gif_bomb(),
    "a GIF with pictures outside of it": gif_of_many_large_pictures(),
    "GIF and HTML": b"GIF89a/*\0\0*/=1;<html><script>alert(1)</script></html>",
    "a PDF": b"%PDF-1.7\n1 0 obj\n",
    "a script": SVG.format("<script>alert(1)</script>").encode(),
    "an address": SVG.format('<image x:href="http://169.254.169.254/"/>').encode(),
    "a file of ours": SVG.format('<image x:href="file:///etc/passwd"/>').encode(),
    "many laughs": b"<!DOCTYPE svg [<!ENTITY a0 'ha'>"
    + b"".join(b"<!ENTITY a%d '%s'>" % (n + 1, b"&a%d;" % n * 10) for n in range(9))
    + b"]><svg xmlns='http://www.w3.org/2000/svg'><text>&a9;</text></svg>",
    "many uses": SVG.format(
        '<g id="a0"/>'
        + "".join(f'<g id="a{n + 1}">{f"""<use href="#a{n}"/>""" * 10}</g>' for n in range(9))
    ).encode(),
    "deep": SVG.format("<g>" * 100_000).encode(),
    "an endless style": SVG.format("<style>" + "url(" * 300_000 + "</style>").encode(),
}


@pytest.mark.parametrize("name", HOSTILE_IMAGES)
async def test_hostile_pictures_are_refused(tmp_path: Path, name: str) -> None:
    source = tmp_path / "a.png"
    source.write_bytes(HOSTILE_IMAGES[name])
    assert (await refused(IMAGE_FACTS_TASK, source)).blame == "caller"


HOSTILE_MEDIA = {
    "nothing": b"",
    "a playlist": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "a list of files": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "a session description": b"v=0\no=- 0 0 IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n",
    "an archive": archive(),
    "a picture": HOSTILE_IMAGES["a PNG bomb"],
    "a type and no more": b"\0\0\0\x18ftypisom\0\0\x02\0isommp41",
    "a box without end": b"\0\0\0\x18ftypisom\0\0\x02\0isommp41" + b"\xff\xff\xff\xffmoov",
    "zeros": bytes(1 << 16),
}


@pytest.mark.parametrize("name", HOSTILE_MEDIA)
async def test_files_that_are_not_video_are_refused(tmp_path: Path, name: str) -> None:
    source = tmp_path / "a.mp4"
    source.write_bytes(HOSTILE_MEDIA[name])
    error = await refused(OVERVIEW_TASK, source)
    assert (error.code, error.blame) == ("unreadable_media", "caller")


async def test_a_video_without_its_second_half_is_refused(tmp_path: Path, clip: bytes) -> None:
    # The clip has its index in front: what is there could be read, what the index names is not.
    source = tmp_path / "a.mp4"
    source.write_bytes(clip[: clip.index(b"moov") + 200])
    assert (await refused(OVERVIEW_TASK, source)).code == "unreadable_media"


@pytest.mark.parametrize("table", [b"stts", b"stsz", b"stco"])
async def test_absurd_counts_in_an_index_cost_no_memory(
    tmp_path: Path, clip: bytes, table: bytes
) -> None:
    source = tmp_path / "a.mp4"
    source.write_bytes(with_count(clip, table, skip=12 if table == b"stsz" else 8))
    await survives(source)


@pytest.mark.parametrize("seed", range(3))
async def test_damaged_videos_end_in_an_answer_or_a_refusal(
    tmp_path: Path, clip: bytes, seed: int
) -> None:
    source = tmp_path / "a.mp4"
    damaged = bytearray(clip)
    # Reproducible, and different for each: a few bytes of the index, more of the pictures.
    for number in range(40):
        place = (seed * 7919 + number * 104_729) % len(damaged)
        damaged[place] ^= 1 << (number % 8)
    source.write_bytes(bytes(damaged))
    await survives(source)


async def test_an_enormous_picture_in_a_video_header_is_refused(
    tmp_path: Path, clip: bytes
) -> None:
    source = tmp_path / "a.mp4"
    source.write_bytes(with_picture_size(clip))
    await survives(source)


async def survives(source: Path, task: str = OVERVIEW_TASK) -> None:
    """Run it; an answer and a refusal are both right, so is want of memory; a crash is not."""
    try:
        answer = await run(task, source)
    except FramekilnError as error:
        if error.code != "unreadable_media" and error.details != {"limit": "memory_bytes"}:
            raise
    else:
        assert {"thumbnails", "waveform", "problems"} == set(answer) or "duration_s" in answer


HOSTILE_SOUNDS = {
    "channels": (wav(channels=400), "has 400 audio channels"),
    "a low rate": (wav(rate_hz=5), "audio at 5 Hz"),
    "a high rate": (wav(rate_hz=2_000_000_000), "audio at 2000000000 Hz"),
}


@pytest.mark.parametrize("name", HOSTILE_SOUNDS)
async def test_absurd_sounds_are_refused_by_what_is_wrong(tmp_path: Path, name: str) -> None:
    source = tmp_path / "a.wav"
    data, message = HOSTILE_SOUNDS[name]
    source.write_bytes(data)
    error = await refused(PROBE_SOURCE_TASK, source)
    assert error.code == "unreadable_media"
    assert message in error.message


async def test_a_false_duration_of_a_sound_costs_no_memory(tmp_path: Path) -> None:
    for number, data in enumerate(mislabelled_sounds(tmp_path).values()):
        source = tmp_path / str(number) / "a.m4a"
        source.parent.mkdir()
        source.write_bytes(data)
        await survives(source, PROBE_SOURCE_TASK)


@pytest.mark.parametrize(
    ("count", "message"), [(10**6, "at most 2097152"), (80_000, "more than 50 cues are shown")]
)
async def test_a_million_cues_are_refused(tmp_path: Path, count: int, message: str) -> None:
    source = tmp_path / "a.vtt"
    source.write_bytes(many_cues(count))
    error = await refused(CAPTION_CHECK_TASK, source)
    assert error.code == "unreadable_captions"
    assert message in error.message


async def test_a_source_that_is_a_pipe_does_not_hang(tmp_path: Path) -> None:
    args = {"source": "a.mp4", "folder": "."}
    for attempt in increasing_limits(PipeNeverOpened):
        with attempt as limit_s:
            folder = tmp_path / f"{limit_s:g}"
            folder.mkdir()
            os.mkfifo(folder / "a.mp4")
            limits = ResourceLimits(
                cpu_s=60, memory_bytes=400 << 20, file_bytes=1 << 20, wall_s=limit_s
            )
            running = asyncio.create_task(
                run_confined(OVERVIEW_TASK, args, limits=limits, folder=folder)
            )
            writer = await opened_by_a_reader(folder / "a.mp4", running)
            with pytest.raises(ConfinedKilled):
                await running
            os.close(writer)


class PipeNeverOpened(Exception):
    """The child was stopped before it had opened the pipe."""


async def opened_by_a_reader(pipe: Path, running: asyncio.Task[Any]) -> int:
    """Return the other end of a pipe once the child has opened it."""
    while True:
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        if running.done():
            raise PipeNeverOpened(repr(running.exception()))
        await asyncio.sleep(0.01)
