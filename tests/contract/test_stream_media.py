"""Media of a streamed upload can be had while the rest arrives, by time and by track."""

import io
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import av
import httpx
import numpy as np
import pytest

from framekiln.client.uploads import LocalTrack, split_video
from framekiln.files.streams.excerpts import ExcerptRange
from framekiln.kit.ids import FileId, OrganizationId
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip
from tests.support.endpoint_harness import EndpointHarness, TlsReceiver, request_json
from tests.support.frame_codes import read_frame_code
from tests.support.pipelines import step
from tests.support.receiver import Answer
from tests.support.streams import begin, digest, error_of, put_fragments, seal
from tests.support.uploads import FILES, detail, running_file_worker, wait_processed

pytestmark = pytest.mark.spec("4.7")

FILM = Clip(b_frames=2, duration_s=Fraction(4), keyframe_every=30)
SECOND = {"mode": "segment", "window_ms": 1000, "overlap_ms": 500}


@pytest.fixture
def app(endpoints: EndpointHarness) -> AppHarness:
    return endpoints.pipelines.app


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("film") / "film.mp4", FILM)


@pytest.fixture(scope="module")
def tracks(film: Path, tmp_path_factory: pytest.TempPathFactory) -> list[LocalTrack]:
    return split_video(film, tmp_path_factory.mktemp("tracks"))


async def get(app: AppHarness, file_id: str, **span: int) -> httpx.Response:
    return await app.client.get(f"{FILES}/{file_id}/stream/media.mp4", params=span)


async def make_ready(app: AppHarness, file_id: str, tracks: list[LocalTrack]) -> None:
    for track in tracks:
        await put_pieces_again(app, file_id, track)
    await seal(app, file_id, **{f"t{each.track_id}": len(each.fragments) for each in tracks})
    async with running_file_worker(app.services):
        assert (await wait_processed(app, file_id))["status"] == "ready"


async def put_pieces_again(app: AppHarness, file_id: str, track: LocalTrack) -> None:
    """Send all of a track, whatever is there."""
    for place, piece in (("init", track.init), *enumerate(track.fragments)):
        path = f"{FILES}/{file_id}/stream/{track.track_id}/{place}"
        data = track.read(piece)
        answer = await app.client.put(path, content=data, headers=digest(data))
        assert answer.status_code in (200, 201), answer.text


Packets = dict[str, list[tuple[Fraction, bytes]]]


def packets(source: Path | bytes) -> Packets:
    """Return what a player gets, by kind of track: when it is shown, and the bytes."""
    opened = io.BytesIO(source) if isinstance(source, bytes) else source
    found: Packets = {}
    with av.open(opened, "r") as container:
        for packet in container.demux():
            if packet.size:
                at = (packet.pts or 0) * packet.time_base
                found.setdefault(packet.stream.type, []).append((at, bytes(packet)))
    return found


def codes(data: bytes) -> list[int | None]:
    with av.open(io.BytesIO(data), "r") as container:
        frames = [each.to_ndarray(format="rgb24") for each in container.decode(video=0)]
    return [read_frame_code(np.asarray(each, np.uint8)) for each in frames]


def assert_part(found: Packets, whole: Packets, kind: str) -> None:
    """What came is a stretch of the film: the same bytes at the same times."""
    first = whole[kind].index(found[kind][0])
    assert found[kind] == whole[kind][first : first + len(found[kind])]


async def test_a_time_range_is_served_during_the_upload(
    app: AppHarness, film: Path, tracks: list[LocalTrack]
) -> None:
    file_id = await begin(app, "video", "audio")
    await put_fragments(app, file_id, tracks[0], 3)
    await put_fragments(app, file_id, tracks[1], 4)
    answer = await get(app, file_id, from_ms=1000, to_ms=2000)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert codes(answer.content) == list(range(30, 60))
    found, whole = packets(answer.content), packets(film)
    for kind in ("video", "audio"):
        assert_part(found, whole, kind)
    assert found["audio"][0][0] <= 1
    assert found["audio"][-1][0] >= 2 - Fraction(1024, 48000)
    sound = await get(app, file_id, from_ms=1000, to_ms=2000, track_id=2)
    assert sound.headers["content-type"] == "audio/mp4"
    assert packets(sound.content) == {"audio": found["audio"]}
    head = await app.client.head(
        f"{FILES}/{file_id}/stream/media.mp4", params={"from_ms": 1000, "to_ms": 2000}
    )
    assert head.headers["content-length"] == str(len(answer.content))
    assert head.content == b""


async def test_a_time_range_has_the_same_bytes_when_the_file_is_ready(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    file_id = await begin(app, "video", "audio")
    await put_fragments(app, file_id, tracks[0], 2)
    await put_fragments(app, file_id, tracks[1], 3)
    before = await get(app, file_id, from_ms=500, to_ms=1500)
    assert before.status_code == 200, before.text
    organization = await app.client.get("/api/v1/organization")
    owner, streams = OrganizationId(UUID(organization.json()["id"])), app.services.streams
    begun = await streams.excerpts.find(
        await streams.find(owner, FileId(UUID(file_id))), ExcerptRange(500, 1500)
    )
    await make_ready(app, file_id, tracks)
    after = await get(app, file_id, from_ms=500, to_ms=1500)
    assert after.content == before.content
    # Begun before and read after, when fragments are no blobs of their own any more.
    assert b"".join([each async for each in streams.excerpts.read(begun)]) == before.content
    everything = await get(app, file_id, to_ms=10_000)
    assert codes(everything.content) == list(range(120))
    late = await get(app, file_id, from_ms=10_000, to_ms=11_000)
    assert error_of(late) == (404, "content_not_found")


async def test_unavailable_ranges_are_refused(app: AppHarness, tracks: list[LocalTrack]) -> None:
    file_id = await begin(app, "video", "audio")
    early = await get(app, file_id, to_ms=1)
    assert error_of(early) == (409, "file_not_ready")
    await put_fragments(app, file_id, tracks[0], 2)
    await put_fragments(app, file_id, tracks[1], 1)
    # All tracks have to be there; half of the span is none.
    early = await get(app, file_id, to_ms=2000)
    assert error_of(early) == (409, "file_not_ready")
    available_ms = early.json()["available_ms"]
    assert 0 < available_ms < 2000
    assert (await get(app, file_id, to_ms=available_ms)).status_code == 200
    assert (await get(app, file_id, to_ms=2000, track_id=1)).status_code == 200
    assert error_of(await get(app, file_id, to_ms=2000, track_id=3)) == (404, "track_not_found")
    for wrong in ({"from_ms": 5, "to_ms": 5}, {"from_ms": 5}, {"from_ms": -1, "to_ms": 5}):
        assert error_of(await get(app, file_id, **wrong)) == (422, "invalid_request")
    whole = await app.client.post(
        FILES, json={"filename": "a.mp4", "type": "video", "byte_size": 10}
    )
    assert error_of(await get(app, whole.json()["id"], to_ms=5)) == (404, "stream_not_found")
    stranger = await app.other_organization()
    assert error_of(await get(stranger, file_id, to_ms=5)) == (404, "file_not_found")


async def test_an_endpoint_gets_the_media_of_its_window_while_the_file_arrives(
    endpoints: EndpointHarness,
    app: AppHarness,
    endpoint_receiver: TlsReceiver,
    film: Path,
    tracks: list[LocalTrack],
) -> None:
    endpoint_receiver.answer(Answer(204))
    endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
    ask = step("endpoint", granularity=SECOND, with_={"endpoint_id": endpoint["id"]})
    file_id = await begin(app, "video", "audio")
    await endpoints.pipelines.start_run(
        await endpoints.pipelines.create_pipeline({"steps": {"ask": ask}}), file_id
    )
    await put_fragments(app, file_id, tracks[0], 3)
    await put_fragments(app, file_id, tracks[1])
    await endpoints.pipelines.tick()
    assert await endpoints.send_due() == 2
    body = next(
        body
        for body in map(request_json, endpoint_receiver.requests)
        if body["window"]["index"] == 1
    )
    assert body["file"]["status"] == "receiving"
    media, window = body["media"], body["window"]
    assert media["index_url"] is None
    asked = {key: parse_qs(urlsplit(media[f"{key}_url"]).query) for key in ("source", "audio")}
    start_ms = window["start_ms"] - window["overlap_ms"]
    for query in asked.values():
        assert (query["from_ms"], query["to_ms"]) == ([str(start_ms)], [str(window["end_ms"])])
    got = await fetched(endpoints, media)
    whole = packets(film)
    assert set(packets(got["audio_url"])) == {"audio"}
    assert set(packets(got["source_url"])) == {"audio", "video"}
    for data in got.values():
        assert_part(packets(data), whole, "audio")
    seen = codes(got["source_url"])
    assert set(range(30, 60)) <= set(seen) <= set(range(60))
    # The addresses go on working, with the same bytes, when the upload has ended.
    await make_ready(app, file_id, tracks)
    assert await fetched(endpoints, media) == got


async def test_the_duration_of_a_stream_is_known_once_it_is_sealed(
    app: AppHarness, tracks: list[LocalTrack]
) -> None:
    """It was null until the file was ready."""
    file_id = await begin(app, "video", "audio")
    for track in tracks:
        await put_fragments(app, file_id, track)
    assert (await detail(app, file_id))["duration_ms"] is None
    await seal(app, file_id, **{f"t{each.track_id}": len(each.fragments) for each in tracks})
    found = await detail(app, file_id)
    assert (found["status"], found["duration_ms"]) == ("processing", 1000 * FILM.duration_s)


async def test_codecs_have_the_same_names_during_and_after_the_upload(
    endpoints: EndpointHarness,
    app: AppHarness,
    endpoint_receiver: TlsReceiver,
    tracks: list[LocalTrack],
) -> None:
    """They were those of the init segments, such as avc1.42c00c, until the file was ready."""
    endpoint_receiver.answer(Answer(204))
    endpoint = await endpoints.create_endpoint(endpoint_receiver.url())
    ask = step("endpoint", granularity=SECOND, with_={"endpoint_id": endpoint["id"]})
    pipeline = await endpoints.pipelines.create_pipeline({"steps": {"ask": ask}})
    file_id = await begin(app, "video", "audio")
    await endpoints.pipelines.start_run(pipeline, file_id)
    for track in tracks:
        await put_fragments(app, file_id, track, 3)
    await endpoints.pipelines.tick()
    assert await endpoints.send_due() > 0
    seen = request_json(endpoint_receiver.requests[-1])["file"]
    assert (seen["id"], seen["status"]) == (file_id, "receiving")
    assert [each["codec"] for each in seen["tracks"]] == ["h264", "aac"]
    await make_ready(app, file_id, tracks)
    ready = (await detail(app, file_id))["tracks"]
    assert [each["codec_name"] for each in ready] == ["h264", "aac"]


async def fetched(endpoints: EndpointHarness, media: Any) -> dict[str, bytes]:
    found = {}
    for name in ("source_url", "audio_url"):
        answer = await endpoints.anonymous.get(media[name])
        assert answer.status_code == 200, answer.text
        found[name] = answer.content
    without = await endpoints.anonymous.get(media["audio_url"].split("&media_token")[0])
    assert without.status_code == 401
    return found
