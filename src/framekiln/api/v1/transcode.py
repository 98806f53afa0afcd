"""/api/v1/transcode: any source as HLS, DASH or JSON, with segments made on demand (spec 4.6)."""

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response

from framekiln.api.auth import MEDIA_TOKEN, MediaReader, opened_link, services_of
from framekiln.api.ranges import blob_response
from framekiln.media.segments.hls_playlists import MEDIA_TYPE as HLS_TYPE
from framekiln.media.segments.renditions import (
    AUDIO,
    MAIN,
    MAX_SHORT_SIDE_PX,
    SCRUB,
    SCRUB_WIDTH_PX,
    STEPS_PX,
)
from framekiln.playback.manifests import dash, hls, json_manifest
from framekiln.playback.manifests.links import ManifestLinks
from framekiln.playback.segment_names import (
    SEGMENT_TYPE,
    SELF_CONTAINED_TYPE,
    find_init,
    find_rendition,
    is_self_contained,
    parse_segment_name,
)

router = APIRouter(prefix="/api/v1/transcode", tags=["playback"])

MANIFEST_AGE_S: Final = 300
SEGMENT_AGE_S: Final = 3600

SourceUrl = Annotated[
    str,
    Query(
        min_length=1,
        description="The source: an https URL, file-id:<id>, or the URL of a file or of a"
        " render's MP4 of this service.",
    ),
]


def _described(*media_types: str) -> dict[int | str, dict[str, Any]]:
    json_type, binary = {"type": "object"}, {"type": "string", "format": "binary"}
    content = {
        each: {"schema": json_type if each == json_manifest.MEDIA_TYPE else binary}
        for each in media_types
    }
    return {200: {"description": "The content", "content": content}}


async def get_hls(request: Request, reader: MediaReader, url: SourceUrl) -> Response:
    """List all renditions for HLS players."""
    playback = services_of(request).playback
    source, outline = await playback.open(reader.organization_id, url)
    await playback.prepare_start(source, outline)
    text = hls.multivariant_playlist(outline, _links(request, url))
    return _kept(text.encode(), HLS_TYPE, MANIFEST_AGE_S)


async def get_dash(request: Request, reader: MediaReader, url: SourceUrl) -> Response:
    """List all renditions for DASH players."""
    playback = services_of(request).playback
    source, outline = await playback.open(reader.organization_id, url)
    await playback.prepare_start(source, outline)
    text = dash.dash_manifest(outline, _links(request, url))
    return _kept(text.encode(), dash.MEDIA_TYPE, MANIFEST_AGE_S)


async def get_json(request: Request, reader: MediaReader, url: SourceUrl) -> Response:
    """List all renditions for players with JSON manifests."""
    services = services_of(request)
    source, outline = await services.playback.open(reader.organization_id, url)
    await services.playback.prepare_start(source, outline)
    body = json_manifest.json_manifest(
        outline, _links(request, url), public_url=services.settings.public_url
    )
    return _kept(json.dumps(body).encode(), json_manifest.MEDIA_TYPE, MANIFEST_AGE_S)


async def get_presets(request: Request, reader: MediaReader) -> Response:
    """List the possible renditions; a source has those that are not larger than itself."""
    steps = [{"id": name, "type": "video", "shortSide": px} for name, px in STEPS_PX.items()]
    presets = [
        {"id": MAIN, "type": "video", "shortSide": MAX_SHORT_SIDE_PX},
        *steps,
        {"id": SCRUB, "type": "video", "width": SCRUB_WIDTH_PX},
        {"id": AUDIO, "type": "audio"},
    ]
    return _kept(json.dumps({"presets": presets}).encode(), "application/json", MANIFEST_AGE_S)


async def get_playlist(
    request: Request, reader: MediaReader, rendition: str, *, url: SourceUrl
) -> Response:
    """List the segments of one rendition for HLS players."""
    _, outline = await services_of(request).playback.open(reader.organization_id, url)
    text = hls.media_playlist(find_rendition(outline, rendition), _links(request, url))
    return _kept(text.encode(), HLS_TYPE, MANIFEST_AGE_S)


async def get_init(
    request: Request, reader: MediaReader, rendition: str, extension: str, *, url: SourceUrl
) -> Response:
    """Send the init segment of a rendition; it is the same for all its segments."""
    _, outline = await services_of(request).playback.open(reader.organization_id, url)
    return _kept(find_init(outline, rendition, extension), SELF_CONTAINED_TYPE, SEGMENT_AGE_S)


async def get_segment(
    request: Request,
    reader: MediaReader,
    rendition: str,
    number: str,
    extension: str,
    *,
    url: SourceUrl,
) -> Response:
    """Send one segment, made now if needed; .mp4 includes the init segment and plays alone."""
    services = services_of(request)
    source, outline = await services.playback.open(reader.organization_id, url)
    found = find_rendition(outline, rendition)
    key = await services.playback.segment(source, parse_segment_name(rendition, number, extension))
    if is_self_contained(extension):
        return _kept(found.init + await services.blobs.get(key), SELF_CONTAINED_TYPE, SEGMENT_AGE_S)
    response = await blob_response(
        request,
        services.blobs,
        key,
        media_type=SEGMENT_TYPE,
        filename=f"{rendition}-{number}.{extension}",
        etag=f"{source.id}-{rendition}-{number}",
        last_modified=source.changed_at,
    )
    response.headers["Cache-Control"] = _cache_control(SEGMENT_AGE_S)
    return response


def _links(request: Request, url: str) -> ManifestLinks:
    link = opened_link(request)
    return ManifestLinks(
        url, request.query_params.get(MEDIA_TOKEN), link_url=link.folder_url if link else None
    )


def _kept(content: bytes, media_type: str, age_s: int) -> Response:
    headers = {"Cache-Control": _cache_control(age_s), "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type=media_type, headers=headers)


def _cache_control(age_s: int) -> str:
    # Only the reader may cache it: others must authenticate.
    return f"private, max-age={age_s}"


for _path, _endpoint, _types, _summary in (
    ("/manifest.m3u8", get_hls, (HLS_TYPE,), "Download the HLS manifest of a source"),
    ("/manifest.mpd", get_dash, (dash.MEDIA_TYPE,), "Download the DASH manifest of a source"),
    (
        "/manifest.json",
        get_json,
        (json_manifest.MEDIA_TYPE,),
        "Download the JSON manifest of a source",
    ),
    ("/presets", get_presets, ("application/json",), "List the possible renditions"),
    ("/{rendition}/playlist.m3u8", get_playlist, (HLS_TYPE,), "List the segments of a rendition"),
    (
        "/{rendition}/init.{extension}",
        get_init,
        (SELF_CONTAINED_TYPE,),
        "Download the init segment of a rendition",
    ),
    (
        "/{rendition}/{number}.{extension}",
        get_segment,
        (SEGMENT_TYPE, SELF_CONTAINED_TYPE),
        "Download a segment of a rendition",
    ),
):
    router.add_api_route(
        _path,
        _endpoint,
        methods=["GET"],
        summary=_summary,
        response_class=Response,
        responses=_described(*_types),
    )
