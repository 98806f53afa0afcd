"""The content of files: originals, tracks, the fragment index, thumbnails, the waveform (spec 4.4).

`GET /api/v1/files/:id` is here too, because it has two kinds of readers. Programs with an API key
get the record of the file; pages use the same address in an image and get its content.
"""

from typing import Any, Final

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import AuthMethod, MediaReader, Reader, services_of
from framekiln.api.ranges import blob_response
from framekiln.api.v1.file_bodies import FileDetail
from framekiln.files.ids import parse_file_id, parse_track_id
from framekiln.files.model import (
    File,
    FileStatus,
    FileType,
    source_key,
    thumbnails_key,
    track_key,
    waveform_key,
)

router = APIRouter(prefix="/api/v1", tags=["files"])

# An SVG opened directly in a browser could run scripts.
SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
UNKNOWN: Final = "application/octet-stream"


def _bytes(*media_types: str) -> dict[int | str, dict[str, Any]]:
    binary: Any = {"type": "string", "format": "binary"}
    json_object: Any = {"type": "object", "additionalProperties": True}
    content = {
        each: {"schema": json_object if each == "application/json" else binary}
        for each in media_types
    }
    return {
        200: {"description": "The whole content", "content": content},
        206: {"description": "The requested range", "content": content},
        304: {"description": "The content has not changed"},
    }


SMALL_TYPES: Final = (
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/gif",
    "image/svg+xml",
    "text/vtt",
    "application/x-subrip",
)
DETAIL_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    **_bytes(*SMALL_TYPES),
    200: {"model": FileDetail, "content": _bytes(*SMALL_TYPES)[200]["content"]},
}


async def get_file(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Return the record of a file; readers without an API key get an image or caption itself.

    A link always leads to the content.
    """
    files = services_of(request).files
    file = await files.get(reader.organization_id, parse_file_id(file_id))
    is_linked = reader.method is AuthMethod.LINK
    if is_linked or (_wants_bytes(request, reader) and file.type is not FileType.VIDEO):
        files.check_readable(file)
        return await _send_source(request, file)
    tracks = await files.tracks(file.organization_id, file.id)
    return Response(
        FileDetail.describe(file, tracks).model_dump_json(),
        media_type="application/json",
        headers={"Cache-Control": "no-store", "Vary": "Accept, Authorization"},
    )


async def get_content(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Send the original bytes."""
    return await _send_source(request, await _readable(request, reader, file_id))


async def get_index(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Send the fragment index."""
    file = await _readable(request, reader, file_id)
    missing = f"file {file.id} has no index: only videos have one"
    return await _send(
        request, file, file.index_key, media_type="application/json", missing=missing
    )


async def get_track(
    request: Request, reader: MediaReader, file_id: str, *, track_id: str
) -> Response:
    """Send a track as fragmented MP4; -1 is the scrub track."""
    number = parse_track_id(track_id)
    file = await _readable(request, reader, file_id)
    track = await services_of(request).files.complete_track(file, number)
    key = track_key(file.organization_id, file.id, number)
    missing = f"track {number} of file {file.id} no longer exists"
    return await _send(request, file, key, media_type=f"{track.type}/mp4", missing=missing)


async def get_thumbnails(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Send the thumbnail sheet of a video."""
    file = await _readable(request, reader, file_id)
    key = thumbnails_key(file.organization_id, file.id)
    missing = f"file {file.id} has no thumbnails: they are made of uploaded video"
    return await _send(request, file, key, media_type="image/jpeg", missing=missing)


async def get_waveform(request: Request, reader: MediaReader, file_id: str) -> Response:
    """Send the waveform of a video's sound."""
    file = await _readable(request, reader, file_id)
    key = waveform_key(file.organization_id, file.id)
    missing = f"file {file.id} has no waveform: it is made of uploaded audio"
    return await _send(request, file, key, media_type="application/json", missing=missing)


for _path, _endpoint, _answers, _summary in (
    ("", get_file, DETAIL_ANSWERS, "Show a file, or download a small one"),
    ("/content", get_content, _bytes("*/*"), "Download the original"),
    ("/index", get_index, _bytes("application/json"), "Download the fragment index"),
    (
        "/tracks/{track_id}",
        get_track,
        _bytes("video/mp4", "audio/mp4"),
        "Download a track",
    ),
    ("/thumbnails.jpg", get_thumbnails, _bytes("image/jpeg"), "Download the thumbnails"),
    ("/waveform.json", get_waveform, _bytes("application/json"), "Download the waveform"),
):
    router.add_api_route(
        f"/files/{{file_id}}{_path}",
        _endpoint,
        methods=["GET"],
        summary=_summary,
        response_class=Response,
        responses=_answers,
    )


def _wants_bytes(request: Request, reader: Reader) -> bool:
    """Return whether a page wants the content, and not a program the record."""
    asked_as = request.headers.get("content-type", ""), request.headers.get("accept", "")
    is_for_programs = any("application/json" in each for each in asked_as)
    return reader.method is not AuthMethod.API_KEY and not is_for_programs


async def _readable(request: Request, reader: Reader, file_id: str) -> File:
    files = services_of(request).files
    file = await files.get(reader.organization_id, parse_file_id(file_id))
    files.check_readable(file)
    return file


async def _send_source(request: Request, file: File) -> Response:
    key = source_key(file.organization_id, file.id)
    missing = f"file {file.id} has no original: it was uploaded as tracks"
    return await _send(request, file, key, media_type=file.media_type or UNKNOWN, missing=missing)


async def _send(
    request: Request, file: File, key: str, *, media_type: str, missing: str
) -> Response:
    assert file.status is FileStatus.READY
    assert file.completed_at is not None
    name = key.rsplit("/", 1)[-1]
    response = await blob_response(
        request,
        services_of(request).blobs,
        key,
        media_type=media_type,
        filename=file.filename if name == "source" else name,
        # A file that is processed again has another time.
        etag=f"{file.id}-{name}-{file.completed_at.timestamp():.6f}",
        last_modified=file.completed_at,
        missing=missing,
    )
    if media_type == "image/svg+xml" or media_type.startswith("text/"):
        response.headers["Content-Security-Policy"] = SANDBOX
    return response
