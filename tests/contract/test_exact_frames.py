"""Frames by number: their times, and that each picture is the frame that was asked for."""

import asyncio
import io
import json
import os
import tempfile
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest
from PIL import Image

from framekiln.files.frame_times import read_times
from framekiln.files.frames import TOGETHER
from framekiln.files.ids import parse_file_id
from framekiln.files.media_copies import MediaCopies
from framekiln.files.model import frame_times_key
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.media.analysis.frame_times import FRAME_TIMES
from framekiln.media.exact_frames import exact_frames_task, frame_times
from framekiln.media.tracks.split import process_video
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.timeouts import TIMEOUT_S
from tests.support.uploads import FILES, running_file_worker, upload_file, wait_processed

pytestmark = pytest.mark.spec("4.4")

SECOND = Fraction(1)
CLIPS = {
    "23.976.mp4": Clip(fps=Fraction(24000, 1001), duration_s=SECOND, b_frames=2),
    "29.97.mp4": Clip(fps=Fraction(30000, 1001), duration_s=SECOND, b_frames=2, keyframe_every=9),
    "variable.mp4": Clip(duration_s=SECOND, variable_rate=True, b_frames=2),
    "variable.mkv": Clip(duration_s=SECOND, variable_rate=True, b_frames=2),
    # Has packets that are not shown, so it is decoded.
    "vp8.webm": Clip(duration_s=SECOND, video_codec="libvpx", audio_codec=None),
    # Its packets may have several frames, so it is decoded as well.
    "mpeg4.mkv": Clip(duration_s=SECOND, video_codec="mpeg4", audio_codec=None),
}
UPLOADED = Clip(fps=Fraction(30000, 1001), duration_s=SECOND, variable_rate=True, b_frames=2)


def code_of(jpeg: bytes) -> int | None:
    with Image.open(io.BytesIO(jpeg)) as picture:
        return read_frame_code(np.asarray(picture.convert("RGB")))


def test_the_last_frame_of_a_variable_rate_ends_with_the_film(tmp_path: Path) -> None:
    """It was as long as the mean of all frames."""
    clip = Clip(duration_s=SECOND, keyframe_every=1, audio_codec=None)
    path = tmp_path / "uneven.mp4"
    with av.open(make_clip(tmp_path / "even.mp4", clip)) as even, av.open(path, "w") as uneven:
        track = uneven.add_stream_from_template(even.streams.video[0])
        for number, packet in enumerate(even.demux(video=0)):
            if packet.size and (number % 7 == 0 or number == 29):
                packet.stream = track
                uneven.mux(packet)
    times = frame_times(path)
    assert times.end * times.tick_s == 1
    process_video(path, tmp_path / "made", report=lambda _: None)
    assert json.loads((tmp_path / "made" / FRAME_TIMES).read_bytes())["end"] == times.end


@pytest.mark.parametrize("name", CLIPS)
def test_each_frame_has_its_time_and_its_picture(tmp_path: Path, name: str) -> None:
    clip = CLIPS[name]
    path = make_clip(tmp_path / name, clip)
    times = frame_times(path)
    numbers = clip.frame_numbers
    # Matroska has whole milliseconds.
    expected_s = [number / clip.fps for number in numbers]
    assert len(times.starts) == len(numbers)
    for start, at_s in zip(times.starts, expected_s, strict=True):
        assert abs(start * times.tick_s - at_s) <= times.tick_s / 2
    assert times.end > times.starts[-1]
    # The first, the last, and some between them, in one go.
    asked = sorted({0, 1, len(numbers) // 2, len(numbers) - 2, len(numbers) - 1})
    tick_s = [times.tick_s.numerator, times.tick_s.denominator]
    ticks = [times.starts[number] for number in asked]
    args = {"source": str(path), "folder": str(tmp_path), "tick_s": tick_s, "ticks": ticks}
    exact_frames_task(args, lambda _: None)
    found = [code_of((tmp_path / f"{place}.jpg").read_bytes()) for place in range(len(asked))]
    assert found == [numbers[number] for number in asked]
    # The same times come from processing it.
    process_video(path, tmp_path / "made", report=lambda _: None)
    made = read_times((tmp_path / "made" / FRAME_TIMES).read_bytes())
    assert (Fraction(*made.tick_s), list(made.starts)) == (times.tick_s, times.starts)


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    async with running_file_worker(app.services):
        yield app


@pytest.fixture(scope="module")
async def file(app: AppHarness, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    clip = make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", UPLOADED)
    record = await upload_file(app, clip.read_bytes(), filename="clip.mp4")
    return await wait_processed(app, record["id"])


async def picture(app: AppHarness, file: dict[str, Any], number: object) -> httpx.Response:
    return await app.client.get(f"{FILES}/{file['id']}/frames/number/{number}.jpg")


class TestRoutes:
    async def test_the_times_are_those_of_the_frames(
        self, app: AppHarness, file: dict[str, Any]
    ) -> None:
        answer = await app.client.get(f"{FILES}/{file['id']}/frame-times")
        assert answer.headers["content-type"] == "application/json"
        times = answer.json()
        tick_s = Fraction(*times["tick_s"])
        expected_s = [number / UPLOADED.fps for number in UPLOADED.frame_numbers]
        assert [start * tick_s for start in times["starts"]] == expected_s
        assert times["frame_count"] == len(expected_s)
        tag = {"If-None-Match": answer.headers["etag"]}
        again = await app.client.get(f"{FILES}/{file['id']}/frame-times", headers=tag)
        assert again.status_code == 304

    async def test_an_organization_has_two_places_and_one_that_waits_can_leave(
        self,
        app: AppHarness,
        file: dict[str, Any],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        organization = (await app.services.identity.authenticate(app.key)).organization
        places = app.services.file_frames.places(organization.id)
        # The first test that asks for pictures: none is in memory.
        path = f"{FILES}/{file['id']}/frames/number/{TOGETHER * 2 - 1}.jpg"
        sent: list[bytes] = []
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        async with places, places:
            staying = asyncio.ensure_future(app.client.get(path))
            leaving = asyncio.ensure_future(app.get_in_parts(path, sent, disconnect=True))
            with pytest.raises(KeyError):
                # There is no response.
                await leaving
            assert (sent, staying.done()) == ([], False)
            # Nothing is fetched before there is a place.
            assert await asyncio.to_thread(os.listdir, tmp_path) == []
            monkeypatch.undo()
        answer = await staying
        assert code_of(answer.content) == UPLOADED.frame_numbers[TOGETHER * 2 - 1]

    async def test_the_times_are_made_when_an_upload_is_processed(
        self, app: AppHarness, tmp_path: Path
    ) -> None:
        clip = CLIPS["vp8.webm"]
        content = make_clip(tmp_path / "vp8.webm", clip).read_bytes()
        record = await upload_file(app, content, filename="vp8.webm")
        await wait_processed(app, record["id"])
        path = f"{FILES}/{record['id']}/frame-times"
        organization = (await app.services.identity.authenticate(app.key)).organization
        places = app.services.file_frames.places(organization.id)
        async with places, places, asyncio.timeout(TIMEOUT_S):
            # There is no place for a child, and none is needed.
            times = (await app.client.get(path)).json()
        assert times["frame_count"] == len(clip.frame_numbers)
        # A file that was processed by an earlier version.
        await app.services.blobs.delete(
            frame_times_key(organization.id, parse_file_id(record["id"]))
        )
        assert (await app.client.get(path)).json() == times

    async def test_a_picture_is_the_frame_with_its_number(
        self, app: AppHarness, file: dict[str, Any]
    ) -> None:
        numbers = UPLOADED.frame_numbers
        for number in (0, TOGETHER - 1, TOGETHER, len(numbers) - 1):
            answer = await picture(app, file, number)
            assert answer.headers["content-type"] == "image/jpeg"
            assert code_of(answer.content) == numbers[number]

    @pytest.mark.parametrize("number", [len(UPLOADED.frame_numbers), 10**9, "-1", "01", "x"])
    async def test_there_is_no_frame_after_the_last(
        self, app: AppHarness, file: dict[str, Any], number: object
    ) -> None:
        answer = await picture(app, file, number)
        assert (answer.status_code, answer.json()["error"]) == (404, "frame_not_found")

    async def test_requests_share_one_copy_of_a_file(
        self, app: AppHarness, file: dict[str, Any]
    ) -> None:
        limits = ResourceLimits(cpu_s=60, memory_bytes=1 << 30, file_bytes=1 << 30, wall_s=60)
        copies = MediaCopies(app.services.files, limits)
        organization = (await app.services.identity.authenticate(app.key)).organization
        found = await app.services.files.get(organization.id, parse_file_id(file["id"]))
        async with copies.open(found) as first, copies.open(found) as second:
            assert first == second
        async with copies.open(found) as later:
            assert later == first, "it stays for a moment"
        await copies.close()
        assert not first.parent.exists()

    async def test_another_organization_sees_no_frame(
        self, app: AppHarness, file: dict[str, Any]
    ) -> None:
        identity = app.services.identity
        other = await identity.create_organization("Other")
        issued = await identity.create_key(other.id, "theirs")
        headers = {"Authorization": f"Bearer {issued.text}"}
        for path in ("frame-times", "frames/number/0.jpg"):
            answer = await app.client.get(f"{FILES}/{file['id']}/{path}", headers=headers)
            assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")
