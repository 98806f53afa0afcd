"""Each operation of the API has a method of the client, or a reason why it has none."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest

from framekiln.client import AsyncClient, Client
from framekiln.client.operations import Listing, Operation
from framekiln.client.videos import FrameFormat, PosterFormat
from tests.support.api_document import api_document
from tests.support.clips import Clip, make_clip
from tests.unit.client.described_service import DescribedService, operations_of

SESSION = "for browsers with a session: a key cannot do this"
OTHER_NAME = "another name of a route that the client uses"
LEGACY = "a route of existing clients: client.files does the same"
PLAYER = "requested by players, which find the address in a playlist"
PROGRAM = "for programs around the service, not for callers"

EXEMPT = {
    "GET /api/v1/keys": SESSION,
    "POST /api/v1/keys": SESSION,
    "DELETE /api/v1/keys/{key_id}": SESSION,
    "POST /api/v1/keys/{key_id}/rotate": SESSION,
    "GET /api/v1/members": SESSION,
    "PATCH /api/v1/members/{user_id}": SESSION,
    "DELETE /api/v1/members/{user_id}": SESSION,
    "GET /api/v1/invitations": SESSION,
    "POST /api/v1/invitations": SESSION,
    "DELETE /api/v1/invitations/{invitation_id}": SESSION,
    "POST /login/invitation": SESSION,
    "POST /login/invitation/accept": SESSION,
    "POST /session/organization": SESSION,
    "POST /login": SESSION,
    "POST /login/code": SESSION,
    "POST /login/review": SESSION,
    "GET /session/review": SESSION,
    "POST /logout": SESSION,
    "GET /session": SESSION,
    "POST /ef-sign-url": SESSION,
    "GET /healthz": PROGRAM,
    "GET /readyz": PROGRAM,
    "POST /api/v1/telemetry": PROGRAM,
    "POST /api/v1/pipeline-callbacks/{callback_id}": PROGRAM,
    "GET /api/v1/renders/{render_id}.jpeg": OTHER_NAME,
    "GET /api/v1/renders/{render_id}.png": OTHER_NAME,
    "GET /api/v1/renders/{render_id}.webp": OTHER_NAME,
    "POST /api/v1/renders/{render_id}/delete": OTHER_NAME,
    "POST /api/v1/files/{file_id}/delete": OTHER_NAME,
    "DELETE /api/v1/pipelines/{pipeline_id}": OTHER_NAME,
    "POST /api/v1/transcriptions": OTHER_NAME,
    "GET /api/v1/files/{file_id}/transcription.json": OTHER_NAME,
    "GET /api/v1/files/{file_id}/transcription.vtt": OTHER_NAME,
    "GET /api/v1/files/{file_id}/transcription.srt": OTHER_NAME,
    "GET /api/v1/transcode/{rendition}/playlist.m3u8": PLAYER,
    "GET /api/v1/transcode/{rendition}/init.{extension}": PLAYER,
    "GET /api/v1/transcode/{rendition}/{number}.{extension}": PLAYER,
    "GET /v2/videos/{video_id}/stream/{track}.m3u8": PLAYER,
    "GET /v2/videos/{video_id}/stream/{track}/init.mp4": PLAYER,
    "GET /v2/videos/{video_id}/stream/{track}/{number}.m4s": PLAYER,
    "POST /api/v1/image_files": LEGACY,
    "GET /api/v1/image_files/md5/{md5}": LEGACY,
    "GET /api/v1/image_files/{file_id}.json": LEGACY,
    "GET /api/v1/image_files/{file_id}/upload": LEGACY,
    "POST /api/v1/image_files/{file_id}/upload": LEGACY,
    "POST /api/v1/caption_files": LEGACY,
    "GET /api/v1/caption_files/md5/{md5}": LEGACY,
    "POST /api/v1/caption_files/{file_id}/upload": LEGACY,
    "POST /api/v1/unprocessed_files": LEGACY,
    "GET /api/v1/unprocessed_files/md5/{md5}": LEGACY,
    "GET /api/v1/unprocessed_files/{file_id}/upload": LEGACY,
    "POST /api/v1/unprocessed_files/{file_id}/upload": LEGACY,
    "POST /api/v1/unprocessed_files/{file_id}/isobmff": LEGACY,
    "GET /api/v1/process_isobmff/{file_id}": LEGACY,
    "GET /api/v1/process_isobmff/{file_id}/progress": LEGACY,
    "POST /api/v1/isobmff_files": LEGACY,
    "GET /api/v1/isobmff_files/md5/{md5}": LEGACY,
    "POST /api/v1/isobmff_files/{file_id}/index/upload": LEGACY,
    "POST /api/v1/isobmff_files/{file_id}/transcribe": LEGACY,
    "GET /api/v1/isobmff_files/{file_id}/transcription": LEGACY,
    "POST /api/v1/isobmff_tracks": LEGACY,
    "GET /api/v1/isobmff_tracks/{file_id}/{track_id}/upload": LEGACY,
    "POST /api/v1/isobmff_tracks/{file_id}/{track_id}/upload": LEGACY,
}
URL = "https://cdn.example/film.mp4"
TRACK = {"track_id": 1, "type": "video", "has_init": False, "next": 0, "byte_size": 0}
STREAM = {"id": "f", "filename": "film.mp4", "tracks": [{**TRACK, "sha256": None}]}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return api_document()


@pytest.fixture
def service(document: dict[str, Any]) -> DescribedService:
    stream: dict[str, dict[str, Any]] = {
        "POST /api/v1/files/stream": STREAM,
        "GET /api/v1/files/{file_id}/stream": STREAM,
        # Not complete at first, so that something is sent.
        "GET /api/v1/files/{file_id}/upload": {"next_byte": 0, "complete": False},
        "GET /api/v1/files/{file_id}/tracks/{track_id}/upload": {"next_byte": 0, "complete": False},
    }
    return DescribedService(document, stream)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_clip(tmp_path / "film.mp4", Clip(duration_s=Fraction(1), audio_codec=None))
    (tmp_path / "rows.csv").write_text("name\nAda\n")
    (tmp_path / "index.html").write_text("<h1>hello</h1>")
    (tmp_path / "out").mkdir()
    return tmp_path


def calls(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of a call of each method; a dictionary at the end is by name."""
    film, out = folder / "film.mp4", folder / "out" / "out"
    by_id = ("id",)
    return {
        "files.upload": (film,),
        "files.upload_streamed": (film, {"file_id": None}),
        "files.wait_ready": by_id,
        "files.download": ("id", out),
        "files.get": by_id,
        "files.list": (),
        "files.by_md5": ("0" * 32,),
        "files.delete": by_id,
        "files.namespaces": by_id,
        "files.metadata": ("id", "scenes"),
        "files.create_track": ("id", {"track_id": 1}),
        "files.upload_track": ("id", 1, film),
        "files.upload_index": ("id", {"tracks": {}}, {}),
        "files.index": by_id,
        "files.download_track": ("id", 1, out),
        "files.download_part": ("id", out, {"to_ms": 1000, "track_id": 1}),
        "files.frame": ("id", 0),
        "files.frame_times": by_id,
        "files.sampled_frame": ("id", 500),
        "files.thumbnails": by_id,
        "files.waveform": by_id,
        "renders.create": ({"html": "<p>", "data": {"a": 1}},),
        "renders.create_from_bundle": (folder,),
        "renders.upload_bundle": ("id", film),
        "renders.by_md5": ("0" * 32,),
        "renders.source": by_id,
        "renders.request": by_id,
        "renders.slices": by_id,
        "renders.repeat": by_id,
        "renders.wait": by_id,
        "renders.download": ("id", out),
        "renders.get": by_id,
        "renders.list": (),
        "renders.delete": by_id,
        "videos.create": ({"layers": []}, {"files": {"clip": film}}),
        "videos.wait": by_id,
        "videos.download": ("id", out),
        "videos.get": by_id,
        "videos.list": (),
        "videos.delete": by_id,
        "videos.plan": ({"layers": []}, {}),
        "videos.draw_frame": ({"layers": []}, {}),
        "videos.frame": by_id,
        "videos.config": by_id,
        "videos.poster": ("id", {"time_s": 0.5}),
        "videos.thumbnail": by_id,
        "videos.playlist": by_id,
        "videos.probe": (URL,),
        "templates.create": ("name", {"layers": []}, {}),
        "templates.update": ("id", "name", {"layers": []}, {}),
        "templates.get": by_id,
        "templates.list": (),
        "templates.versions": by_id,
        "templates.version": ("id", 1),
        "templates.check": ({"layers": []}, {"data": {"name": "Ada"}}),
        "templates.schema": ("id", {"version": 2}),
        "templates.render": ("id", {"name": "Ada"}, {}),
        "templates.delete": by_id,
        "bulks.create": ("id", [{"name": "Ada"}]),
        "bulks.create_from_table": ("id", folder / "rows.csv", {"version": 1}),
        "bulks.get": by_id,
        "bulks.list": (),
        "bulks.wait": by_id,
        "bulks.rows": by_id,
        "bulks.cancel": by_id,
        "bulks.download": ("id", out),
        "bulks.manifest": ("id", out, "csv"),
        "transcriptions.create": by_id,
        "transcriptions.get": by_id,
        "transcriptions.list": (),
        "transcriptions.wait": by_id,
        "transcriptions.of_file": by_id,
        "transcriptions.text": ("id", "srt"),
        "transcriptions.fragment": ("id", 0),
        "transcriptions.corrections": by_id,
        "transcriptions.correct": ("id", 500, {"end_ms": 900, "text": "hello"}),
        "transcriptions.delete_correction": ("id", 500),
        "pipelines.create": ("name", {"steps": {}}, {}),
        "pipelines.get": by_id,
        "pipelines.list": (),
        "pipelines.find": ("name",),
        "pipelines.archive": by_id,
        "pipelines.create_version": ("id", {"steps": {}}, {}),
        "pipelines.validate": ({"steps": {}}, {}),
        "pipelines.versions": by_id,
        "pipelines.version": ("id", 1),
        "runs.create": ("id", "file"),
        "runs.get": by_id,
        "runs.list": (),
        "runs.attempts": by_id,
        "runs.cancel": by_id,
        "runs.retry": by_id,
        "runs.wait": by_id,
        "runs.outputs": ("id", "scenes"),
        "batches.create": ("id", ["file"]),
        "batches.get": by_id,
        "batches.list": (),
        "batches.cancel": by_id,
        "reviews.get": by_id,
        "reviews.list": (),
        "reviews.inputs": by_id,
        "reviews.create_link": by_id,
        "reviews.approve": by_id,
        "reviews.reject": by_id,
        "endpoints.create": (URL,),
        "endpoints.get": by_id,
        "endpoints.list": (),
        "endpoints.archive": by_id,
        "links.create": (URL,),
        "links.token": (URL,),
        "links.list": (),
        "links.revoke": by_id,
        "playback.hls": (URL,),
        "playback.dash": (URL,),
        "playback.manifest": (URL,),
        "playback.presets": (),
        "webhooks.create": (URL, ["render.*"]),
        "webhooks.get": by_id,
        "webhooks.list": (),
        "webhooks.update": ("id", {"events": ["render.*"]}),
        "webhooks.delete": by_id,
        "webhooks.rotate_secret": by_id,
        "webhooks.rotate_callback_secret": (),
        "webhooks.resume": by_id,
        "webhooks.test": (),
        "webhooks.test_one": by_id,
        "webhooks.topics": (),
        "webhooks.deliveries": by_id,
        "webhooks.delivery": by_id,
        "webhooks.redeliver": by_id,
        "organization.get": (),
        "organization.usage": (),
        "organization.audit_log": (),
        "organization.follow": (lambda: True,),
        "organization.send_feedback": ("idea", "summary", "details"),
    }


def split(given: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if given and isinstance(given[-1], dict):
        return given[:-1], given[-1]
    return given, {}


def methods_of(client: Client | AsyncClient) -> Iterator[str]:
    for name, part in vars(client).items():
        for each in dir(type(part)):
            if isinstance(getattr(type(part), each), Operation | Listing):
                yield f"{name}.{each}"


def test_each_operation_has_a_method_or_a_reason(service: DescribedService, folder: Path) -> None:
    client = Client("http://service", "key", transport=httpx.MockTransport(service))
    table = calls(folder)
    assert set(methods_of(client)) == set(table)
    for name, given in table.items():
        arguments, options = split(given)
        part, method = name.split(".")
        found = getattr(getattr(client, part), method)(*arguments, **options)
        if isinstance(found, Iterator):
            assert list(found), name
    client.videos.create({"layers": []})
    client.files.upload_streamed(folder / "film.mp4", file_id="f")
    for form in ("json", "vtt"):
        client.transcriptions.text("id", form)
    everything = operations_of(service.document)
    assert everything - service.asked - set(EXEMPT) == set(), "neither a method nor a reason"
    assert set(EXEMPT) - everything == set(), "gone from the API"
    assert service.asked & set(EXEMPT) == set(), "a method, and a reason for none"


async def test_new_requests_also_work_with_asyncio(service: DescribedService, folder: Path) -> None:
    transport = httpx.MockTransport(service)
    async with AsyncClient("http://service", "key", transport=transport) as client:
        await client.renders.upload_bundle("id", folder)
        await client.videos.probe(folder / "film.mp4")
        await client.organization.follow(lambda: True)
        assert len([each async for each in client.templates.versions("id")]) == 1
    assert service.asked == {
        "POST /api/v1/renders/{render_id}/upload",
        "GET /api/v1/renders/{render_id}",
        "POST /v2/metadata",
        "GET /api/v1/activity",
        "GET /v2/templates/{template_id}/versions",
    }


@pytest.mark.parametrize(
    ("path", "formats"),
    [
        ("/v2/videos/{video_id}/poster", PosterFormat),
        ("/v2/videos/{video_id}/frame", FrameFormat),
    ],
)
def test_formats_of_pictures_are_those_of_the_service(path: str, formats: Any) -> None:
    parameters = api_document()["paths"][path]["get"]["parameters"]
    [found] = [each["schema"]["enum"] for each in parameters if each["name"] == "format"]
    assert set(get_args(formats)) == set(found)
