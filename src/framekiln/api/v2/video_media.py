"""What can be watched of a video: its file, its stream, a thumbnail, a frame."""

from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import MEDIA_TOKEN, AuthenticatedCaller, MediaReader, services_of
from framekiln.api.ranges import blob_response
from framekiln.api.v2.forms import Form, field_error, open_form
from framekiln.api.v2.openapi_bodies import FRAME
from framekiln.api.v2.videos import video_request
from framekiln.composition.layers.values import Extension
from framekiln.kit.ids import OrganizationId
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.segments.hls_playlists import MEDIA_TYPE
from framekiln.renders.output import media_type_of
from framekiln.storage.errors import BlobNotFound
from framekiln.videos.errors import NotAFilm
from framekiln.videos.frames import MAX_TIME_S, EncodedFrame, FrameRequest
from framekiln.videos.model import Video

router = APIRouter(prefix="/v2", tags=["videos"])

Result = TypeVar("Result")
FrameFormat = Literal["jpg", "png", "webp"]
PosterFormat = Literal["jpg", "webp"]
PosterTime = Annotated[float | None, Query(ge=0, le=MAX_TIME_S, allow_inf_nan=False)]
TrackName = Literal["picture", "sound"]

# A playlist of a film in the making is another one a moment later.
_LIVE: Final = {"Cache-Control": "no-cache"}
_KEPT: Final = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
_SEGMENT: Final = "video/mp4"
_DOWNLOADED: Final = (
    *(container.media_type for container in FILM_CONTAINERS.values()),
    *("image/jpeg", "image/png", "image/webp"),
)


def _binary(*media_types: str) -> dict[int | str, dict[str, Any]]:
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {200: {"content": dict.fromkeys(media_types, schema)}}


@router.get(
    "/videos/{video_id}/download",
    response_class=Response,
    responses={
        **_binary(*_DOWNLOADED),
        206: {"description": "The part that `Range` asks for"},
        304: {"description": "What the caller has is still right"},
    },
    summary="Download a video",
)
async def download_video(request: Request, reader: MediaReader, video_id: str) -> Response:
    """Send the file, whole or in ranges."""
    services = services_of(request)
    video = await services.v2.videos.get_ready(reader.organization_id, video_id)
    made, completed_at = video.render.result, video.render.completed_at
    assert made is not None
    assert completed_at is not None
    return await blob_response(
        request,
        services.blobs,
        made.output_key,
        media_type=media_type_of(video.render.request.output),
        filename=video.filename,
        etag=f"{video.render.id}-{made.output_key.rsplit('/', 1)[-1]}",
        last_modified=completed_at,
    )


@router.get(
    "/videos/{video_id}/stream",
    response_class=Response,
    responses=_binary(MEDIA_TYPE),
    summary="Play a video as HLS",
)
async def stream_video(request: Request, reader: MediaReader, video_id: str) -> Response:
    """Return the playlist that players begin with; also while the video is being made."""
    streams = services_of(request).v2.hls
    text = await _retry_when_completed(
        request,
        reader.organization_id,
        video_id,
        lambda video: streams.main_playlist(video, query=_query(request)),
    )
    return Response(text, media_type=MEDIA_TYPE, headers=_LIVE)


@router.get(
    "/videos/{video_id}/stream/{track}.m3u8",
    response_class=Response,
    responses=_binary(MEDIA_TYPE),
    summary="List the finished segments of a track",
)
async def stream_track(
    request: Request, reader: MediaReader, video_id: str, track: TrackName
) -> Response:
    """Return the playlist of pictures or sound."""
    streams = services_of(request).v2.hls
    text = await _retry_when_completed(
        request,
        reader.organization_id,
        video_id,
        lambda video: streams.media_playlist(video, track, query=_query(request)),
    )
    return Response(text, media_type=MEDIA_TYPE, headers=_LIVE)


@router.get(
    "/videos/{video_id}/stream/{track}/init.mp4",
    response_class=Response,
    responses=_binary(_SEGMENT),
    summary="Download the init segment of a track",
)
async def stream_init(
    request: Request, reader: MediaReader, video_id: str, track: TrackName
) -> Response:
    """Return what players need before any segment."""
    streams = services_of(request).v2.hls
    data = await _retry_when_completed(
        request, reader.organization_id, video_id, lambda video: streams.init(video, track)
    )
    return Response(data, media_type=_SEGMENT, headers=_KEPT)


@router.get(
    "/videos/{video_id}/stream/{track}/{number}.m4s",
    response_class=Response,
    responses=_binary(_SEGMENT),
    summary="Download a segment of a track",
)
async def stream_segment(
    request: Request,
    reader: MediaReader,
    video_id: str,
    track: TrackName,
    number: int,
) -> Response:
    """Return some seconds of pictures or sound."""
    streams = services_of(request).v2.hls
    data = await _retry_when_completed(
        request,
        reader.organization_id,
        video_id,
        lambda video: streams.segment(video, track, number),
    )
    return Response(data, media_type=_SEGMENT, headers=_KEPT)


@router.get(
    "/videos/{video_id}/thumbnail",
    response_class=Response,
    responses=_binary("image/jpeg", "image/png", "image/webp"),
    summary="Download the thumbnail of a video",
)
async def get_thumbnail(request: Request, reader: MediaReader, video_id: str) -> Response:
    """Return a JPEG of at most 640 pixels; of a video that is one picture, that picture."""
    services = services_of(request)
    video = await services.v2.videos.get_ready(reader.organization_id, video_id)
    if not video.is_film:
        return await download_video(request, reader, video_id)
    data = await services.v2.frames.thumbnail(video)
    return Response(data, media_type="image/jpeg", headers=_KEPT)


@router.get(
    "/videos/{video_id}/poster",
    response_class=Response,
    responses=_binary("image/jpeg", "image/png", "image/webp"),
    summary="Download the poster of a video",
)
async def get_poster(
    request: Request,
    reader: MediaReader,
    video_id: str,
    *,
    at: PosterTime = None,
    # As in the query of a frame.
    t: Annotated[PosterTime, Query(include_in_schema=False)] = None,
    format: PosterFormat = "jpg",
) -> Response:
    """Return a picture as large as the film: its middle, or what is seen `at` a second."""
    at = t if at is None else at
    services = services_of(request)
    video = await services.v2.videos.get_ready(reader.organization_id, video_id)
    if not video.is_film:
        return await download_video(request, reader, video_id)
    frames, extension = services.v2.frames, Extension(format)
    if at is None:
        poster = await frames.poster(video, extension)
    else:
        # Not stored: callers could store every frame of a film.
        asked = FrameRequest(Fraction(str(at)), extension, name="at")
        poster = await frames.from_film(video, asked)
    return Response(poster.data, media_type=poster.media_type, headers=_KEPT)


class FrameQuery(BaseModel):
    """The query of a frame; a name that nobody knows is refused: it would show another frame."""

    model_config = ConfigDict(extra="forbid")

    t: float = Field(default=0, ge=0, le=MAX_TIME_S, allow_inf_nan=False)
    format: FrameFormat = "jpg"


@router.get(
    "/videos/{video_id}/frame",
    response_class=Response,
    responses=_binary("image/jpeg", "image/png", "image/webp"),
    summary="Download a frame of a video",
)
async def get_frame(
    request: Request,
    caller: AuthenticatedCaller,
    query: Annotated[FrameQuery, Query()],
    *,
    video_id: str,
) -> Response:
    """Return one picture: from the film, or drawn for the occasion while there is none."""
    services = services_of(request)
    video = await services.v2.videos.get(caller.organization.id, video_id)
    if not video.is_film:
        raise NotAFilm(f"video {video.id} is one picture: download it")
    asked = FrameRequest(Fraction(str(query.t)), Extension(query.format))
    frames = services.v2.frames
    if video.is_ready:
        return _picture(await frames.from_film(video, asked))
    return _picture(await frames.from_video(caller, video, asked))


@router.post(
    "/videos/frame",
    response_class=Response,
    responses=_binary("image/jpeg", "image/png", "image/webp"),
    openapi_extra=FRAME,
    summary="Draw a frame of a config",
)
async def draw_frame(request: Request, caller: AuthenticatedCaller) -> Response:
    """Draw one picture of a config; nothing is kept."""
    services = services_of(request)
    async with open_form(request) as form:
        asked = FrameRequest(_time(form), _format(form))
        accepted = await services.v2.videos.validate(
            caller.organization.id, await video_request(form)
        )
    return _picture(await services.v2.frames.from_config(caller, accepted, asked))


async def _retry_when_completed(
    request: Request,
    organization_id: OrganizationId,
    video_id: str,
    step: Callable[[Video], Awaitable[Result]],
) -> Result:
    """Do a step; when the film was finished in the middle of it, its slices are gone: once more."""
    videos = services_of(request).v2.videos
    try:
        return await step(await videos.get(organization_id, video_id))
    except BlobNotFound:
        return await step(await videos.get(organization_id, video_id))


def _query(request: Request) -> str:
    """Return what has to stand behind every address of a playlist: who reads by token."""
    token = request.query_params.get(MEDIA_TOKEN)
    return f"?{urlencode({MEDIA_TOKEN: token})}" if token else ""


def _picture(still: EncodedFrame) -> Response:
    return Response(still.data, media_type=still.media_type, headers={"Cache-Control": "no-store"})


def _time(form: Form) -> Fraction:
    value = form.values.get("t", 0)
    try:
        if isinstance(value, bool):
            raise ValueError(value)
        time_s = float(value)
    except (TypeError, ValueError) as error:
        raise field_error("t", "type", "t must be a number of seconds") from error
    if not 0 <= time_s <= MAX_TIME_S:
        raise field_error("t", "out_of_range", f"t must be 0 to {MAX_TIME_S} seconds")
    return Fraction(str(time_s))


def _format(form: Form) -> Extension:
    value = form.values.get("format", "jpg")
    if value not in ("jpg", "png", "webp"):
        raise field_error("format", "out_of_range", "format must be jpg, png or webp")
    return Extension(value)
