"""Streamed uploads: fragments are verified as they come; what is kept is the media, or nothing."""

import asyncio
import hashlib
import os
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import av
import pytest

from framekiln.client import Client
from framekiln.client.errors import NotStreamable, OtherMedia
from framekiln.client.uploads import LocalTrack, fragments_by_time, split_video
from framekiln.files.events import FileEvents
from framekiln.files.streams.fragment_reader import fetch_fragments
from framekiln.files.streams.model import chained_digest
from framekiln.files.streams.service import Streams
from framekiln.kit.ids import FileId, OrganizationId
from tests.contract.test_uploads import serving
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.clock import SettableClock
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.pipelines import enable_pipelines
from tests.support.streams import begin, digest, error_of, put, put_fragments, seal, state
from tests.support.timeouts import TIMEOUT_S
from tests.support.unusual_clips import HEVC, make_pictures
from tests.support.uploads import (
    FILES,
    blob_names,
    create,
    detail,
    running_file_worker,
    wait_until_stored,
)
from tests.support.uploads import wait_processed as ended

pytestmark = pytest.mark.spec("4.7")

FILM = Clip(b_frames=2, duration_s=Fraction(4), keyframe_every=30)


@pytest.fixture(scope="module")
async def app(app: AppHarness) -> AsyncIterator[AppHarness]:
    await enable_pipelines(app)
    async with running_file_worker(app.services):
        yield app


@pytest.fixture(scope="module")
async def client(app: AppHarness) -> AsyncIterator[Client]:
    """Our own client, over a real socket; its calls block, so they go into threads."""
    async with serving(app) as url:
        with Client(url, app.key, retry_within_s=TIMEOUT_S) as client:
            yield client


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", FILM)


@pytest.fixture(scope="module")
def tracks(film: Path, tmp_path_factory: pytest.TempPathFactory) -> list[LocalTrack]:
    return split_video(film, tmp_path_factory.mktemp("tracks"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As long and as large, with other pictures and sound."""
    clip = Clip(b_frames=2, duration_s=Fraction(4), keyframe_every=30, beep_delay_ms=200)
    return make_clip(tmp_path_factory.mktemp("other") / "film.mp4", clip)


async def owner(app: AppHarness) -> OrganizationId:
    found = await app.client.get("/api/v1/organization")
    return OrganizationId(UUID(found.json()["id"]))


def packets(path: Path, index: int) -> list[tuple[Fraction, bytes]]:
    with av.open(path) as container:
        return [
            ((packet.pts or 0) * packet.time_base, bytes(packet))
            for packet in container.demux(container.streams[index])
            if packet.size
        ]


@pytest.mark.spec("3.2", "2.6")
async def test_a_video_is_uploaded_fragment_by_fragment(
    app: AppHarness, film: Path, tracks: list[LocalTrack], tmp_path: Path
) -> None:
    file_id = await begin(app, "video", "audio")
    for track in tracks:
        answer = await put(app, file_id, f"{track.track_id}/init", track.read(track.init))
        assert answer.status_code == 201
    for track, number in fragments_by_time(tracks, {1: 0, 2: 0}):
        data = track.read(track.fragments[number])
        answer = await put(app, file_id, f"{track.track_id}/{number}", data)
        assert (answer.status_code, answer.json()["next"]) == (201, number + 1)
        assert (await detail(app, file_id))["status"] == "receiving"
        # Sent twice, it is there once.
        again = await put(app, file_id, f"{track.track_id}/{number}", data)
        assert (again.status_code, again.json()) == (200, answer.json())
    counts = {f"t{track.track_id}": len(track.fragments) for track in tracks}
    sealed = await seal(app, file_id, **counts)
    assert (sealed.status_code, sealed.json()["status"]) == (200, "processing")
    found = await ended(app, file_id)
    assert (found["status"], found["error"]) == ("ready", None)
    assert (found["width"], found["height"], found["duration_ms"]) == (320, 240, 4000)
    assert [(each["track_id"], each["type"], each["codec_name"]) for each in found["tracks"]] == [
        (1, "video", "h264"),
        (2, "audio", "aac"),
    ]
    index = (await app.client.get(f"{FILES}/{file_id}/index")).json()
    assert set(index) == {"-1", "1", "2"}
    for track in tracks:
        path = tmp_path / f"{track.track_id}.mp4"
        path.write_bytes(
            (await app.client.get(f"{FILES}/{file_id}/tracks/{track.track_id}")).content
        )
        assert path.read_bytes() == track.path.read_bytes()
        assert packets(path, 0) == packets(film, track.track_id - 1)
        places = {piece.offset: piece for piece in track.fragments}
        segments = index[str(track.track_id)]["segments"]
        assert sum(each["size"] for each in segments) == track.size_bytes - track.init.size_bytes
        assert {each["offset"] for each in segments} <= set(places)
    # The whole film is there too, for whoever wants one file.
    whole = tmp_path / "whole.mp4"
    whole.write_bytes((await app.client.get(f"{FILES}/{file_id}/content")).content)
    for stream_index in (0, 1):
        assert packets(whole, stream_index) == packets(film, stream_index)
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(whole)]
    assert codes == list(range(120))
    extras = ("frame-times.json", "index.json", "source", "thumbnails.jpg", "waveform.json")
    await wait_until_stored(app, file_id, *extras, *(f"tracks/{key}.mp4" for key in index))
    # Whoever did not hear the answer may say it all again.
    assert (await seal(app, file_id, **counts)).json()["status"] == "ready"
    last = tracks[0].fragments[-1]
    number = len(tracks[0].fragments) - 1
    assert (await put(app, file_id, f"1/{number}", tracks[0].read(last))).status_code == 200
    late = await put(app, file_id, f"1/{number + 1}", tracks[0].read(last))
    assert error_of(late) == (409, "stream_closed")


async def test_received_fragments_are_processed_before_the_end(
    app: AppHarness, tracks: list[LocalTrack], tmp_path: Path
) -> None:
    file_id = await begin(app, "video", "audio")
    await put_fragments(app, file_id, tracks[0], 3)
    await put_fragments(app, file_id, tracks[1], 1)
    found = await state(app, file_id)
    video, sound = found["tracks"]
    assert (video["next"], video["end_ms"], video["codec"][:5]) == (3, 3000, "avc1.")
    assert (sound["next"], found["available_ms"]) == (1, sound["end_ms"])
    # Both sides have the same sum of all that has come.
    assert video["sha256"] == tracks[0].chained_digest(3).hex()
    organization_id, streams = await owner(app), app.services.streams
    rows = await streams.fragments(organization_id, FileId(UUID(file_id)))
    pictures = [row for row in rows if row.track_id == 1]
    assert [(row.number, row.start_ms, row.end_ms) for row in pictures] == [
        (0, 0, 1000),
        (1, 1000, 2000),
        (2, 2000, 3000),
    ]
    assert [row.first_byte for row in pictures] == [
        piece.offset for piece in tracks[0].fragments[:3]
    ]
    stream = await streams.find(organization_id, FileId(UUID(file_id)))
    await fetch_fragments(app.services.blobs, stream, pictures[1:3], tmp_path / "stretch.mp4")
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(tmp_path / "stretch.mp4")]
    assert codes == list(range(30, 90))
    # Nobody else gets to see it before it is whole.
    for path in ("content", "index", "tracks/1"):
        answer = await app.client.get(f"{FILES}/{file_id}/{path}")
        assert error_of(answer) == (409, "file_not_ready")


class Cut(Exception):
    """The sender was interrupted."""


async def test_the_client_resumes_an_upload(
    app: AppHarness, client: Client, film: Path, tracks: list[LocalTrack], other: Path
) -> None:
    begun: list[str] = []
    total = sum(track.size_bytes for track in tracks)

    def cut_in_the_middle(done: int, _: int) -> None:
        if done > total // 2:
            raise Cut

    with pytest.raises(Cut):
        await asyncio.to_thread(
            client.files.upload_streamed, film, cut_in_the_middle, on_begun=begun.append
        )
    (file_id,) = begun
    there = sum(track["byte_size"] for track in (await state(app, file_id))["tracks"])
    assert total // 2 < there < total
    with pytest.raises(OtherMedia, match="the same one"):
        await asyncio.to_thread(client.files.upload_streamed, other, file_id=file_id)
    reports: list[tuple[int, int]] = []
    await asyncio.to_thread(
        client.files.upload_streamed, film, lambda *each: reports.append(each), file_id=file_id
    )
    assert (reports[0], reports[-1]) == ((there, total), (total, total))
    whole = await state(app, file_id)
    assert whole["status"] in ("processing", "ready")
    assert [each["sha256"] for each in whole["tracks"]] == [
        track.chained_digest(len(track.fragments)).hex() for track in tracks
    ]


async def test_the_command_streams_and_waits(
    app: AppHarness, client: Client, film: Path, tmp_path: Path
) -> None:
    environment = {"FRAMEKILN_BASE_URL": client.base_url, "FRAMEKILN_API_KEY": app.key}
    command = [sys.executable, "-m", "framekiln", "upload", str(film), "--stream", "--wait"]
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert process.returncode == 0, errors
    file_id, status, name = output.decode().split()
    assert (status, name) == ("ready", "film.mp4")
    # Said as soon as it was known, to be continued with.
    assert f"stream {file_id}" in errors.decode()
    assert len((await detail(app, file_id))["tracks"]) == 2
    # A stretch of it is the same as it was before the end.
    organization_id, found = await owner(app), FileId(UUID(file_id))
    rows = await app.services.streams.fragments(organization_id, found)
    stream = await app.services.streams.find(organization_id, found)
    stretch = [row for row in rows if row.track_id == 1][2:]
    await fetch_fragments(app.services.blobs, stream, stretch, tmp_path / "end.mp4")
    codes = [read_frame_code(frame.rgb) for frame in decode_frames(tmp_path / "end.mp4")]
    assert codes == list(range(60, 120))


async def test_a_video_that_must_be_encoded_is_refused_before_anything_is_sent(
    app: AppHarness, client: Client, tmp_path: Path
) -> None:
    path = make_pictures(tmp_path / "film.mp4", HEVC)
    with pytest.raises(NotStreamable, match="without --stream"):
        await asyncio.to_thread(client.files.upload_streamed, path)


async def test_an_unfinished_stream_is_not_ready(app: AppHarness) -> None:
    file_id = await begin(app, "video")
    answer = await app.client.get(f"{FILES}/{file_id}/upload")
    assert (answer.status_code, answer.json()["complete"]) == (202, False)


@pytest.mark.spec("5")
async def test_without_pipelines_there_are_no_streamed_uploads(app: AppHarness) -> None:
    stranger, file_id = await app.other_organization(), await begin(app, "video")
    body = {"filename": "a", "tracks": [{"track_id": 1, "type": "audio"}]}
    answers = [
        await stranger.client.post(f"{FILES}/stream", json=body),
        await stranger.client.get(f"{FILES}/{file_id}/stream"),
        await seal(stranger, file_id, t1=1),
        await put(stranger, file_id, "1/init", b"x"),
        await put(stranger, file_id, "1/0", b"x"),
    ]
    assert {error_of(answer) for answer in answers} == {(404, "not_found")}


async def test_digests_are_required_and_checked(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video")
    track = tracks[0]
    await put_fragments(app, file_id, track, 1)
    before = await state(app, file_id)
    data = track.read(track.fragments[1])
    path = f"{FILES}/{file_id}/stream/1/1"
    wrong = await app.client.put(path, content=data, headers=digest(data[:-1]))
    assert error_of(wrong) == (422, "digest_mismatch")
    changed = await app.client.put(path, content=data[:-1] + b"!", headers=digest(data))
    assert error_of(changed) == (422, "digest_mismatch")
    for header in ({}, {"Content-Digest": "sha-256=:AAAA:"}, {"Content-Digest": "md5=:AAAA:"}):
        answer = await app.client.put(path, content=data, headers=header)
        assert error_of(answer) == (422, "invalid_digest")
    assert await state(app, file_id) == before
    assert len(blob_names(app, file_id)) == 1


async def test_fragments_must_be_in_order(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video")
    track = tracks[0]
    first, second, third = (track.read(piece) for piece in track.fragments[:3])
    assert error_of(await put(app, file_id, "1/0", first)) == (409, "init_missing")
    await put(app, file_id, "1/init", track.read(track.init))
    gap = await put(app, file_id, "1/1", second)
    assert (*error_of(gap), gap.json()["next"]) == (409, "fragment_gap", 0)
    # Swapped: the second comes first, then the first does not follow it.
    assert (await put(app, file_id, "1/0", second)).status_code == 201
    swapped = await put(app, file_id, "1/1", first)
    assert error_of(swapped) == (422, "invalid_fragment")
    assert "in order" in swapped.json()["message"]
    # One left out.
    left_out = await put(app, file_id, "1/1", track.read(track.fragments[3]))
    assert error_of(left_out) == (422, "invalid_fragment")
    assert "missing" in left_out.json()["message"]
    assert (await put(app, file_id, "1/1", third)).status_code == 201
    assert (await state(app, file_id))["tracks"][0]["next"] == 2
    assert (await put(app, file_id, "1/x", third)).status_code == 404
    assert error_of(await put(app, file_id, "2/0", third)) == (404, "track_not_found")


async def test_different_content_for_the_same_fragment_is_refused(
    app: AppHarness, tracks: list[LocalTrack], other: Path, tmp_path: Path
) -> None:
    file_id = await begin(app, "video", "audio")
    for track in tracks:
        await put_fragments(app, file_id, track, 2)
    before = await state(app, file_id)
    strange = split_video(other, tmp_path)[1]
    answer = await put(app, file_id, "2/0", strange.read(strange.fragments[0]))
    assert (*error_of(answer), answer.json()["next"]) == (409, "fragment_differs", 2)
    answer = await put(app, file_id, "1/init", strange.read(strange.init))
    assert error_of(answer) == (409, "fragment_differs")
    assert await state(app, file_id) == before


@pytest.mark.spec("8")
@pytest.mark.parametrize(
    "types", [[], ["audio"] * 9, ["video", "audio", "video"]], ids=["none", "nine", "two videos"]
)
async def test_invalid_tracks_are_refused(app: AppHarness, types: list[str]) -> None:
    listed = [{"track_id": n, "type": kind} for n, kind in enumerate(types, 1)]
    answer = await app.client.post(f"{FILES}/stream", json={"filename": "a", "tracks": listed})
    assert error_of(answer) == (422, "invalid_tracks")


async def test_the_number_of_tracks_is_limited(app: AppHarness) -> None:
    await begin(app, "video", *["audio"] * 7)
    twice = [{"track_id": 1, "type": "audio"}] * 2
    answer = await app.client.post(f"{FILES}/stream", json={"filename": "a", "tracks": twice})
    assert error_of(answer) == (422, "invalid_tracks")


async def test_invalid_expiry_is_refused(app: AppHarness) -> None:
    body = {"filename": "a", "tracks": [{"track_id": 1, "type": "audio"}]}
    answer = await app.client.post(f"{FILES}/stream", json={**body, "expires_at": "1999-01-01T00"})
    assert error_of(answer) == (422, "must_be_future")


async def test_incomplete_streams_cannot_be_sealed(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    file_id = await begin(app, "video", "audio")
    assert error_of(await seal(app, file_id, t1=0, t2=0)) == (409, "stream_incomplete")
    await put_fragments(app, file_id, tracks[0])
    await put_fragments(app, file_id, tracks[1], 1)
    here = len(tracks[0].fragments)
    answer = await seal(app, file_id, t1=here, t2=len(tracks[1].fragments))
    assert error_of(answer) == (409, "stream_incomplete")
    assert answer.json()["tracks"] == {"1": {"next": here}, "2": {"next": 1}}
    assert error_of(await seal(app, file_id, t1=here)) == (409, "stream_incomplete")
    assert error_of(await seal(app, file_id, t1=here, t2=1, t3=1)) == (409, "stream_incomplete")
    assert (await detail(app, file_id))["status"] == "receiving"


async def test_concurrent_senders_store_once(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video")
    track = tracks[0]
    for place, piece in (("1/init", track.init), ("1/0", track.fragments[0])):
        data = track.read(piece)
        answers = await asyncio.gather(*(put(app, file_id, place, data) for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len(blob_names(app, file_id)) == 1
    assert (await state(app, file_id))["tracks"][0]["next"] == 1


async def test_invalid_init_segments_are_refused(
    app: AppHarness, tracks: list[LocalTrack], tmp_path: Path
) -> None:
    file_id = await begin(app, "video", "audio")
    video, sound = (track.read(track.init) for track in tracks)
    assert error_of(await put(app, file_id, "1/init", sound)) == (422, "invalid_fragment")
    assert error_of(await put(app, file_id, "1/init", b"")) == (422, "invalid_fragment")
    whole = video + tracks[0].read(tracks[0].fragments[0])
    assert error_of(await put(app, file_id, "1/init", whole)) == (422, "invalid_fragment")
    made = make_pictures(tmp_path / "hevc.mp4", HEVC)
    with (
        av.open(made) as source,
        av.open(
            tmp_path / "f.mp4", "w", options={"movflags": "frag_keyframe+empty_moov"}
        ) as target,
    ):
        copy = target.add_stream_from_template(source.streams.video[0], opaque=True)
        for packet in source.demux(source.streams.video[0]):
            if packet.size:
                packet.stream = copy
                target.mux(packet)
    data = (tmp_path / "f.mp4").read_bytes()
    answer = await put(app, file_id, "1/init", data[: data.index(b"moof") - 4])
    assert error_of(answer) == (422, "unsupported_coding")
    assert "re-encoded" in answer.json()["message"]


async def test_invalid_fragments_are_refused(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video")
    track = tracks[0]
    await put(app, file_id, "1/init", track.read(track.init))
    data = track.read(track.fragments[0])
    for wrong in (
        b"",
        b"hello, this is not a fragment",
        data[: len(data) // 2],
        data[:-1],
        data + data,
        data + b"\0\0\0\x08free",
        tracks[1].read(tracks[1].fragments[0])[:100],
    ):
        assert error_of(await put(app, file_id, "1/0", wrong)) == (422, "invalid_fragment")
    assert blob_names(app, file_id) == set()


async def test_pictures_that_cannot_be_decoded_fail_the_file(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    file_id = await begin(app, "video")
    track = tracks[0]
    await put(app, file_id, "1/init", track.read(track.init))
    data = track.read(track.fragments[0])
    at = data.index(b"mdat") + 4
    noise = data[:at] + b"\xff" * (len(data) - at)
    assert (await put(app, file_id, "1/0", noise)).status_code == 201
    await seal(app, file_id, t1=1)
    found = await ended(app, file_id)
    assert (found["status"], found["error"]["code"]) == ("failed", "unreadable_media")
    await wait_until_stored(app, file_id)
    assert error_of(await seal(app, file_id, t1=1)) == (409, "stream_closed")


async def test_an_abandoned_stream_fails_after_a_day(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    services, clock = app.services, SettableClock(app.services.clock.now())
    stored = {"jobs": services.jobs, "blobs": services.blobs, "quotas": services.quotas}
    events = FileEvents(services.outbox)
    streams = Streams(services.database, clock=clock, events=events, **stored)  # type: ignore[arg-type]
    left = await begin(app, "video")
    await put_fragments(app, left, tracks[0], 1)
    clock.advance(timedelta(hours=23))
    await streams.fail_abandoned()
    assert (await detail(app, left))["status"] == "receiving"
    clock.advance(timedelta(hours=2))
    assert await streams.fail_abandoned() >= 1
    found = await detail(app, left)
    assert (found["status"], found["error"]["code"]) == ("failed", "stream_abandoned")
    assert blob_names(app, left) == set()
    answer = await put(app, left, "1/1", tracks[0].read(tracks[0].fragments[1]))
    assert error_of(answer) == (409, "stream_closed")
    assert await streams.fail_abandoned() == 0


async def test_streams_of_others_and_of_plain_files_are_404(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    file_id = await begin(app, "video")
    stranger = await app.other_organization()
    await enable_pipelines(stranger)
    init = tracks[0].read(tracks[0].init)
    assert error_of(await put(stranger, file_id, "1/init", init)) == (404, "file_not_found")
    answer = await stranger.client.get(f"{FILES}/{file_id}/stream")
    assert error_of(answer) == (404, "file_not_found")
    assert error_of(await seal(stranger, file_id, t1=1)) == (404, "file_not_found")
    plain = (await create(app))["id"]
    assert error_of(await put(app, plain, "1/init", init)) == (404, "stream_not_found")
    assert error_of(await seal(app, plain, t1=1)) == (404, "stream_not_found")
    answer = await app.client.get(f"{FILES}/{plain}/stream")
    assert error_of(answer) == (404, "stream_not_found")


async def test_a_deleted_stream_leaves_nothing(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video")
    await put_fragments(app, file_id, tracks[0], 2)
    assert len(blob_names(app, file_id)) == 2
    await app.client.delete(f"{FILES}/{file_id}")
    assert blob_names(app, file_id) == set()
    answer = await put(app, file_id, "1/2", tracks[0].read(tracks[0].fragments[2]))
    assert error_of(answer) == (404, "file_not_found")


def test_client_and_service_compute_the_same_chained_digest(tracks: list[LocalTrack]) -> None:
    track, so_far = tracks[0], None
    for piece in (track.init, *track.fragments):
        so_far = chained_digest(so_far, hashlib.sha256(track.read(piece)).digest())
    assert so_far == track.chained_digest(len(track.fragments))
