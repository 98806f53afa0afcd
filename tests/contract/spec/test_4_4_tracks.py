"""Clause 4.4, tracks: video that was processed elsewhere comes as tracks and an index."""

import asyncio
import json
from collections.abc import AsyncIterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import av
import pytest

from framekiln.kit.ids import FileId, OrganizationId
from framekiln.media.remux.track_mux import mux_fragmented_mp4
from framekiln.media.tracks.split import process_video, track_path
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.jobs import wait_until
from tests.support.uploads import FILES, blob_names, create, detail, md5_of, send_chunk, upload

pytestmark = pytest.mark.spec("4.4")


class Prepared:
    """A video as a client's own tools have processed it."""

    def __init__(self, folder: Path) -> None:
        source = make_clip(folder / "clip.mp4", Clip(duration_s=Fraction(1)))
        made = process_video(source, folder, report=lambda _: None)
        self.tracks = {
            track.track_id: {
                "track_id": track.track_id,
                "type": track.type,
                "probe_info": track.probe_info,
                "duration_ms": track.duration_ms,
                "codec_name": track.codec_name,
                "byte_size": track.byte_size,
            }
            for track in made.tracks
        }
        self.data = {number: track_path(folder, number).read_bytes() for number in self.tracks}
        self.index: dict[str, Any] = json.loads((folder / "index.json").read_bytes())
        self.md5 = md5_of(source.read_bytes())


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return Prepared(tmp_path_factory.mktemp("prepared"))


async def add_track(app: AppHarness, file_id: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await app.client.post(f"{FILES}/{file_id}/tracks", json={"file_id": file_id, **body})
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


async def with_tracks(app: AppHarness, prepared: Prepared, **body: Any) -> str:
    """Register a file and upload both tracks of it; return its id."""
    file_id = (await create(app, **body))["id"]
    for number, track in prepared.tracks.items():
        await add_track(app, file_id, track)
        path = f"{FILES}/{file_id}/tracks/{number}/upload"
        answers = await upload(app, path, prepared.data[number], chunk_bytes=40_000)
        assert answers[-1].status_code == 201
    return str(file_id)


async def send_index(app: AppHarness, file_id: str, index: Any) -> Any:
    """Stream it without a length, as existing clients do."""
    raw = index if isinstance(index, bytes) else json.dumps(index).encode()

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(raw), 1000):
            yield raw[at : at + 1000]

    return await app.client.post(f"{FILES}/{file_id}/index/upload", content=pieces())


@pytest.mark.spec("2.7", "3.2")
async def test_tracks_and_an_index_make_a_file_ready(app: AppHarness, prepared: Prepared) -> None:
    """The sum is that of the source, the size that of a track: neither can be checked."""
    byte_size = len(prepared.data[1])
    record = await create(app, md5=prepared.md5, byte_size=byte_size, filename="clip.mp4")
    file_id = record["id"]
    for number, track in prepared.tracks.items():
        data, path = prepared.data[number], f"{FILES}/{file_id}/tracks/{number}/upload"
        state = {
            "file_id": file_id,
            "track_id": number,
            "next_byte": 0,
            "byte_size": len(data),
            "complete": False,
        }
        assert await add_track(app, file_id, track) == state
        assert (await app.client.get(path)).status_code == 202
        half = len(data) // 2
        first = await send_chunk(app, path, data[:half], start=0, total=len(data))
        assert (first.status_code, first.json()) == (202, {**state, "next_byte": half})
        # Asked for again, it is where it was.
        assert (await add_track(app, file_id, track))["next_byte"] == half
        last = await send_chunk(app, path, data[half:], start=half, total=len(data))
        done = {**state, "next_byte": len(data), "complete": True}
        assert (last.status_code, last.json()) == (201, done)
        again = await send_chunk(app, path, data[half:], start=half, total=len(data))
        assert (again.status_code, again.json()) == (201, done)
        assert (await app.client.get(path)).status_code == 200
        assert await add_track(app, file_id, track) == done
    assert (await detail(app, file_id))["status"] == "uploading"
    answer = await send_index(app, file_id, prepared.index)
    assert (answer.status_code, answer.json()) == (200, {"id": file_id, "status": "ready"})
    found = await detail(app, file_id)
    assert (found["width"], found["height"], found["duration_ms"]) == (320, 240, 1000)
    assert [track["track_id"] for track in found["tracks"]] == [1, 2]
    served = await app.client.get(f"{FILES}/{file_id}/index")
    assert served.headers["content-type"] == "application/json"
    # The track for scrubbing was listed and never uploaded.
    assert served.json() == {key: prepared.index[key] for key in ("1", "2")}
    for number, data in prepared.data.items():
        assert (await app.client.get(f"{FILES}/{file_id}/tracks/{number}")).content == data
    [index_name] = index_names(app, file_id)
    assert blob_names(app, file_id) == {index_name, "tracks/1.mp4", "tracks/2.mp4"}
    # Another one replaces it.
    assert (await send_index(app, file_id, prepared.index)).status_code == 200
    [other_name] = index_names(app, file_id)
    assert other_name != index_name
    assert (await app.client.get(f"{FILES}/{file_id}/index")).json() == served.json()


async def test_an_index_is_stored_without_a_lock_and_deleted_if_it_is_not_recorded(
    app: AppHarness, prepared: Prepared
) -> None:
    """The store may take long, and the database has few connections."""
    file_id = (await create(app, byte_size=1))["id"]

    async def is_stored() -> bool:
        return bool(index_names(app, file_id))

    async with app.services.database.transaction() as connection:
        await connection.execute("SELECT FROM file WHERE id = %s FOR UPDATE", (file_id,))
        sending = asyncio.create_task(send_index(app, file_id, prepared.index))
        await wait_until(is_stored)
        await connection.execute("DELETE FROM file WHERE id = %s", (file_id,))
    assert (await sending).status_code == 404
    assert index_names(app, file_id) == []


def index_names(app: AppHarness, file_id: str) -> list[str]:
    return [name for name in blob_names(app, file_id) if name.startswith("index")]


@pytest.mark.spec("2.6")
async def test_nothing_is_left_to_send_of_a_file_uploaded_as_tracks(
    app: AppHarness, prepared: Prepared
) -> None:
    """`complete` was true and `next_byte` 0, because the file's own content never came."""
    byte_size = len(prepared.data[1])
    file_id = await with_tracks(app, prepared, byte_size=byte_size)
    await send_index(app, file_id, prepared.index)
    sent = await app.client.get(f"{FILES}/{file_id}/upload")
    assert (sent.status_code, sent.json()["complete"]) == (200, True)
    found = await detail(app, file_id)
    assert sent.json()["next_byte"] == found["next_byte"] == byte_size


@pytest.mark.spec("3.2")
async def test_an_index_uploaded_first_waits_for_its_tracks(
    app: AppHarness, prepared: Prepared
) -> None:
    file_id = (await create(app))["id"]
    answer = await send_index(app, file_id, prepared.index)
    assert (answer.status_code, answer.json()) == (202, {"id": file_id, "status": "created"})
    for number, track in prepared.tracks.items():
        assert (await detail(app, file_id))["status"] in ("created", "uploading")
        assert (await app.client.get(f"{FILES}/{file_id}/index")).status_code == 409
        await add_track(app, file_id, track)
        await upload(app, f"{FILES}/{file_id}/tracks/{number}/upload", prepared.data[number])
    found = await detail(app, file_id)
    assert (found["status"], found["duration_ms"], found["width"]) == ("ready", 1000, 320)
    served = await app.client.get(f"{FILES}/{file_id}/index")
    assert served.json() == {key: prepared.index[key] for key in ("1", "2")}


@pytest.mark.spec("3.2")
async def test_an_index_uploaded_between_tracks_waits_for_the_rest(
    app: AppHarness, prepared: Prepared
) -> None:
    file_id = (await create(app))["id"]
    for number, track in prepared.tracks.items():
        await add_track(app, file_id, track)
        await upload(app, f"{FILES}/{file_id}/tracks/{number}/upload", prepared.data[number])
        # The second time nothing is missing.
        answer = await send_index(app, file_id, prepared.index)
        expected = (202, "uploading") if number == 1 else (200, "ready")
        assert (answer.status_code, answer.json()["status"]) == expected


@pytest.mark.parametrize("fault", ["too short", "no MP4"])
async def test_a_track_that_does_not_fit_the_waiting_index_fails_the_file(
    app: AppHarness, prepared: Prepared, fault: str
) -> None:
    file_id = (await create(app))["id"]
    assert (await send_index(app, file_id, {"1": prepared.index["1"]})).status_code == 202
    whole = prepared.data[1]
    data = whole[:-1] if fault == "too short" else b"x" * len(whole)
    await add_track(app, file_id, {**prepared.tracks[1], "byte_size": len(data)})
    answers = await upload(app, f"{FILES}/{file_id}/tracks/1/upload", data)
    assert answers[-1].status_code == 201
    found = await detail(app, file_id)
    assert (found["status"], found["error"]["code"]) == ("failed", "invalid_index")
    # Another index, of the track that is there, makes it ready after all.
    if fault == "too short":
        entry = {**prepared.index["1"], "segments": prepared.index["1"]["segments"][:-1]}
        assert (await send_index(app, file_id, {"1": entry})).json()["status"] == "ready"


async def test_an_index_of_impossible_tracks_is_refused(
    app: AppHarness, prepared: Prepared
) -> None:
    file_id = (await create(app))["id"]
    first = prepared.index["1"]
    many = {str(n): {**first, "track": n} for n in range(1, 66)}
    for index in (
        {"0": {**first, "track": 0}},
        {"-1": {**first, "track": -1}},
        {"01": {**first, "track": 1}},
        {"10001": {**first, "track": 10001}},
        {"x": first},
        {"1": {**first, "width": 1 << 40}},
        many,
    ):
        answer = await send_index(app, file_id, index)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_index")
    assert index_names(app, file_id) == []


async def test_a_ready_file_refuses_an_index_of_missing_tracks(
    app: AppHarness, prepared: Prepared
) -> None:
    file_id = await with_tracks(app, prepared)
    await send_index(app, file_id, prepared.index)
    more = {**prepared.index, "3": {**prepared.index["1"], "track": 3}}
    assert (await send_index(app, file_id, more)).status_code == 400
    assert (await detail(app, file_id))["status"] == "ready"


async def test_a_scrub_track_is_accepted(app: AppHarness, prepared: Prepared) -> None:
    file_id = await with_tracks(app, prepared)
    scrub = {**prepared.tracks[1], "track_id": -1}
    await add_track(app, file_id, scrub)
    await upload(app, f"{FILES}/{file_id}/tracks/-1/upload", prepared.data[1])
    index = {**prepared.index, "-1": {**prepared.index["1"], "track": -1}}
    assert (await send_index(app, file_id, index)).status_code == 200
    answer = await app.client.get(f"{FILES}/{file_id}/tracks/-1")
    assert answer.content == prepared.data[1]
    assert [track["track_id"] for track in (await detail(app, file_id))["tracks"]] == [1, 2]


async def test_files_of_any_type_accept_tracks(app: AppHarness, prepared: Prepared) -> None:
    """Tools look up a sum and go on with whatever file they find."""
    file_id = await with_tracks(app, prepared, type="caption")
    assert (await send_index(app, file_id, prepared.index)).json()["status"] == "ready"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"track_id": 0}, 400),
        ({"track_id": -2}, 400),
        ({"track_id": 1.5}, 400),
        ({"type": "subtitle"}, 400),
        ({"byte_size": 0}, 400),
        ({"byte_size": (1 << 30) + 1}, 413),
        ({"duration_ms": -1}, 400),
        ({"codec_name": ""}, 400),
        ({"probe_info": "no"}, 400),
        ({"file_id": "another"}, 400),
    ],
)
async def test_invalid_tracks_are_refused_by_field(
    app: AppHarness, prepared: Prepared, change: dict[str, Any], status: int
) -> None:
    record = await create(app)
    body = {**prepared.tracks[1], **change}
    answer = await app.client.post(f"{FILES}/{record['id']}/tracks", json=body)
    assert answer.status_code == status
    assert answer.json()["field"] == next(iter(change))


async def test_an_incomplete_track_can_be_restarted_with_another_size(
    app: AppHarness, prepared: Prepared
) -> None:
    """Made again, a track may have another size; while it is not complete that is no matter."""
    file_id = (await create(app))["id"]
    path, data = f"{FILES}/{file_id}/tracks/1/upload", prepared.data[1]
    await add_track(app, file_id, {**prepared.tracks[1], "byte_size": 5000})
    await send_chunk(app, path, b"x" * 3000, start=0, total=5000)
    assert (await add_track(app, file_id, prepared.tracks[1]))["next_byte"] == 0
    await upload(app, path, data)
    body = {**prepared.tracks[1], "byte_size": 5000}
    answer = await app.client.post(f"{FILES}/{file_id}/tracks", json=body)
    assert (answer.status_code, answer.json()["error"]) == (409, "track_exists")
    assert blob_names(app, file_id) == {"tracks/1.mp4"}


async def test_an_unknown_track_is_404(app: AppHarness) -> None:
    file_id = (await create(app))["id"]
    for track in ("3", "0", "x", "99999999999"):
        path = f"{FILES}/{file_id}/tracks/{track}/upload"
        for answer in (await app.client.get(path), await app.client.post(path, content=b"x")):
            assert (answer.status_code, answer.json()["error"]) == (404, "track_not_found")


async def test_an_index_must_fit_the_tracks(app: AppHarness, prepared: Prepared) -> None:
    file_id = await with_tracks(app, prepared)
    first = prepared.index["1"]
    beyond = {"offset": 0, "size": len(prepared.data[1]) + 1}
    for index in (
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"1": NaN}',
        {"-1": prepared.index["-1"]},
        {"1": {**first, "track": 2}},
        {"1": {**first, "type": "text"}},
        {"1": {**first, "timescale": 0}},
        {"1": {**first, "initSegment": beyond}},
        {"1": {**first, "segments": [{**first["segments"][0], **beyond}]}},
        {"1": {**first, "segments": [{**first["segments"][0], "offset": -1}]}},
        {"1": {**first, "segments": {}}},
    ):
        answer = await send_index(app, file_id, index)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_index"), index
    assert (await detail(app, file_id))["status"] == "uploading"
    assert index_names(app, file_id) == []
    too_large = await app.client.post(
        f"{FILES}/{file_id}/index/upload", headers={"Content-Length": str((50 << 20) + 1)}
    )
    assert too_large.status_code == 413


async def test_tracks_must_match_the_index(app: AppHarness, prepared: Prepared) -> None:
    file_id = (await create(app))["id"]
    await add_track(app, file_id, prepared.tracks[1])
    data = b"x" * len(prepared.data[1])
    await upload(app, f"{FILES}/{file_id}/tracks/1/upload", data)
    answer = await send_index(app, file_id, {"1": prepared.index["1"]})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_index")
    assert "not an MP4" in answer.json()["message"]


async def test_an_index_for_an_unknown_file_is_404(app: AppHarness, prepared: Prepared) -> None:
    stranger = await app.other_organization()
    file_id = await with_tracks(app, prepared)
    answer = await send_index(stranger, file_id, prepared.index)
    assert (answer.status_code, answer.json()["error"]) == (404, "file_not_found")
    answer = await stranger.client.post(f"{FILES}/{file_id}/tracks", json=prepared.tracks[1])
    assert answer.status_code == 404


async def test_tracks_are_merged_into_one_film_in_a_confined_child(
    app: AppHarness, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = await with_tracks(app, prepared)
    await send_index(app, file_id, prepared.index)
    caller = await app.client.get("/api/v1/organization")
    organization_id = OrganizationId(UUID(caller.json()["id"]))
    file = await app.services.files.get(organization_id, FileId(UUID(file_id)))
    tracks = []
    for number in (1, 2):
        tracks.append(tmp_path / str(number))
        tracks[-1].write_bytes(prepared.data[number])
    mux_fragmented_mp4(tracks, tmp_path / "here.mp4")
    # Whatever opens a file of strangers in this process fails now.
    monkeypatch.setattr(av, "open", None)
    await app.services.files.fetch_media(file, tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").read_bytes() == (tmp_path / "here.mp4").read_bytes()
    assert (tmp_path / "film.mp4").stat().st_mode & 0o777 == 0o644
