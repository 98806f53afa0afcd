"""/api/v1/transcriptions, and the transcripts of files (spec 4.4, 4.5)."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from framekiln.api import sse
from framekiln.api.auth import AuthenticatedCaller, MediaReader, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.progress import counted_events, progress_response
from framekiln.api.unknown_fields import WarningRoute
from framekiln.api.v1.transcription_bodies import (
    CreateTranscription,
    FileTranscriptionRecord,
    IsobmffTranscriptionRecord,
    TranscribeFile,
    TranscribeStarted,
    TranscriptCaptions,
    TranscriptFragment,
    TranscriptionList,
    TranscriptionQuery,
    TranscriptionRecord,
)
from framekiln.files.ids import parse_file_id
from framekiln.identity.model import Caller
from framekiln.speech.captions import to_page_captions, to_srt, to_vtt
from framekiln.speech.model import Transcript
from framekiln.transcripts.documents import page_captions
from framekiln.transcripts.model import (
    Transcription,
    TranscriptionRequest,
    fragment_number_of,
    transcription_id_of,
)

router = APIRouter(prefix="/api/v1", tags=["transcriptions"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10
MEDIA_TYPES: Final = {
    "json": "application/json",
    "vtt": "text/vtt; charset=utf-8",
    "srt": "application/x-subrip; charset=utf-8",
}

WordTimes = Annotated[bool, Query(description="In WebVTT, include the time of each word.")]

Corrected = Annotated[
    bool, Query(description="With the corrections of people; false for what was recognized.")
]


def _found(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    meaning = "This track is already transcribed, or being transcribed"
    return {200: {"model": model, "description": meaning}}


@router.post(
    "/files/{file_id}/transcribe",
    status_code=201,
    openapi_extra=json_body(TranscribeFile),
    responses=_found(TranscribeStarted),
    summary="Transcribe a file",
)
async def transcribe_file(
    request: Request, response: Response, caller: AuthenticatedCaller, *, file_id: str
) -> TranscribeStarted:
    """Transcribe an audio track, by default the first; a repeated request changes nothing."""
    file = parse_file_id(file_id)
    body = await read_json(request, TranscribeFile, max_bytes=MAX_BODY_BYTES)
    started = await _start(request, response, caller, ask=body.as_ask(file))
    return TranscribeStarted.of(started)


router.add_api_route(
    "/isobmff_files/{file_id}/transcribe",
    transcribe_file,
    methods=["POST"],
    status_code=201,
    operation_id="transcribe_isobmff_file",
    openapi_extra=json_body(TranscribeFile),
    responses=_found(TranscribeStarted),
    summary="Transcribe a file, at its older URL",
)


@router.get("/files/{file_id}/transcription", summary="Show the transcription of a file")
async def get_file_transcription(
    request: Request, reader: MediaReader, file_id: str
) -> FileTranscriptionRecord:
    """Return the status of a file's newest transcription."""
    transcripts = services_of(request).transcripts
    found = await transcripts.newest(reader.organization_id, parse_file_id(file_id))
    return FileTranscriptionRecord.of(found)


@router.get(
    "/isobmff_files/{file_id}/transcription",
    summary="Show the transcription of a file, at its older URL",
)
async def get_isobmff_transcription(
    request: Request, reader: MediaReader, file_id: str
) -> IsobmffTranscriptionRecord:
    """Return the status of a file's newest transcription."""
    transcripts = services_of(request).transcripts
    found = await transcripts.newest(reader.organization_id, parse_file_id(file_id))
    return IsobmffTranscriptionRecord.of(found)


@router.post(
    "/transcriptions",
    status_code=201,
    openapi_extra=json_body(CreateTranscription),
    responses=_found(TranscriptionRecord),
    summary="Create a transcription",
)
async def create_transcription(
    request: Request, response: Response, caller: AuthenticatedCaller
) -> TranscriptionRecord:
    """Transcribe an audio track of a file; a repeated request changes nothing."""
    body = await read_json(request, CreateTranscription, max_bytes=MAX_BODY_BYTES)
    ask = body.as_ask(parse_file_id(body.file_id))
    return TranscriptionRecord.of(await _start(request, response, caller, ask=ask))


@router.get("/transcriptions", summary="List transcriptions")
async def list_transcriptions(
    request: Request,
    caller: AuthenticatedCaller,
    *,
    query: Annotated[TranscriptionQuery, Query()],
) -> TranscriptionList:
    """Return a page of the organization's transcriptions, newest first."""
    found = await services_of(request).transcripts.page(
        caller.organization.id,
        file_id=parse_file_id(query.file_id) if query.file_id is not None else None,
        before_position=query.position,
        limit=query.limit + 1,
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return TranscriptionList(
        transcriptions=[TranscriptionRecord.of(each) for each in page], next_cursor=next_cursor
    )


@router.get(
    "/transcriptions/{transcription_id}/progress",
    response_class=sse.EventStream,
    summary="Follow the progress of a transcription",
)
async def follow_transcription(
    request: Request, caller: AuthenticatedCaller, transcription_id: str
) -> Response:
    """Stream progress until the transcription ends (server-sent events)."""
    transcripts = services_of(request).transcripts
    found = await transcripts.get(caller.organization.id, transcription_id_of(transcription_id))
    return progress_response(request, caller, counted_events(transcripts, found.id, request))


@router.get(
    "/transcriptions/{transcription_id}/fragments/{number}",
    response_model=TranscriptFragment,
    summary="Download the transcript of one slice",
)
async def get_fragment(
    request: Request, reader: MediaReader, transcription_id: str, *, number: str
) -> Response:
    """Return the words of slice `number`, `work_slice_ms` long; times are in seconds."""
    transcripts = services_of(request).transcripts
    found = await transcripts.get(reader.organization_id, transcription_id_of(transcription_id))
    transcript = await transcripts.fragment(found, fragment_number_of(number))
    return JSONResponse(to_page_captions(transcript))


def _text_answers(form: str) -> dict[str, Any]:
    if form == "json":
        return {"response_model": TranscriptCaptions}
    media_type = MEDIA_TYPES[form].partition(";")[0]
    content = {media_type: {"schema": {"type": "string"}}}
    return {
        "response_class": Response,
        "responses": {200: {"description": "The captions", "content": content}},
    }


def _add_text_routes(form: str) -> None:
    """Add the two addresses of one transcript format."""

    async def of_transcription(
        request: Request,
        reader: MediaReader,
        transcription_id: str,
        *,
        word_times: WordTimes = False,
        corrected: Corrected = True,
    ) -> Response:
        """Return the transcript."""
        transcripts = services_of(request).transcripts
        found = await transcripts.get(reader.organization_id, transcription_id_of(transcription_id))
        transcript = await transcripts.transcript(found, corrected=corrected)
        return _text(transcript, form, word_times=word_times)

    async def of_file(
        request: Request,
        reader: MediaReader,
        file_id: str,
        *,
        word_times: WordTimes = False,
        corrected: Corrected = True,
    ) -> Response:
        """Return the transcript of a file's newest transcription."""
        transcripts = services_of(request).transcripts
        transcript = await transcripts.for_file(
            reader.organization_id, parse_file_id(file_id), corrected=corrected
        )
        return _text(transcript, form, word_times=word_times)

    routes = {
        f"/transcriptions/{{transcription_id}}.{form}": of_transcription,
        f"/files/{{file_id}}/transcription.{form}": of_file,
    }
    for path, endpoint in routes.items():
        router.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            operation_id=f"{endpoint.__name__}_{form}",
            summary=f"Download the transcript as {form.upper()}",
            **_text_answers(form),
        )


for _form in MEDIA_TYPES:
    _add_text_routes(_form)


# After the routes with an extension, which it would match too.
@router.get("/transcriptions/{transcription_id}", summary="Show a transcription")
async def get_transcription(
    request: Request, caller: AuthenticatedCaller, transcription_id: str
) -> TranscriptionRecord:
    """Return the status of a transcription; safe to poll."""
    transcripts = services_of(request).transcripts
    found = await transcripts.get(caller.organization.id, transcription_id_of(transcription_id))
    return TranscriptionRecord.of(found)


async def _start(
    request: Request, response: Response, caller: Caller, *, ask: TranscriptionRequest
) -> Transcription:
    started, is_new = await services_of(request).transcripts.start(caller, ask)
    response.status_code = 201 if is_new else 200
    return started


def _text(transcript: Transcript, form: str, *, word_times: bool) -> Response:
    if form == "json":
        return JSONResponse(page_captions(transcript))
    text = to_vtt(transcript, word_times=word_times) if form == "vtt" else to_srt(transcript)
    return Response(text, media_type=MEDIA_TYPES[form])
