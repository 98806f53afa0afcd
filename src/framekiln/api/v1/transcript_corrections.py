"""/api/v1/transcriptions/{transcription_id}/corrections: what people have corrected."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from pydantic import AfterValidator, BaseModel, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.bodies import json_body, read_json
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.api.v1.numbers import WHOLE
from framekiln.api.v1.render_bodies import Instant
from framekiln.identity.model import Caller
from framekiln.transcripts.corrections import MAX_TEXT_CHARS, TranscriptCorrection
from framekiln.transcripts.errors import InvalidCorrection
from framekiln.transcripts.model import Transcription, transcription_id_of

router = APIRouter(prefix="/api/v1", tags=["transcriptions"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 64 << 10
MAX_MS: Final = 1 << 40

StartMs = Annotated[int, Path(ge=0, lt=MAX_MS, description="Where the correction starts.")]


def _one_line(text: str) -> str:
    """Return the text with single spaces; control characters are refused."""
    line = " ".join(text.split())
    if any(ord(letter) < ord(" ") or 0xD800 <= ord(letter) < 0xE000 for letter in line):
        raise ValueError("must not contain control characters")
    return line


class PutCorrection(RequestBody):
    """The text of a span."""

    end_ms: Annotated[int, Field(ge=1, le=MAX_MS, description="Where the correction ends."), WHOLE]
    text: Annotated[
        str,
        Field(
            max_length=MAX_TEXT_CHARS,
            strict=True,
            description="What is said there; empty if nothing is.",
        ),
        AfterValidator(_one_line),
    ]


class CorrectionInfo(BaseModel):
    """A correction."""

    start_ms: int
    end_ms: int
    original_text: str = Field(description="What was recognized there when it was corrected.")
    text: str
    updated_at: Instant

    @classmethod
    def of(cls, correction: TranscriptCorrection) -> "CorrectionInfo":
        """Describe a correction."""
        return cls(
            start_ms=correction.start_ms,
            end_ms=correction.end_ms,
            original_text=correction.original_text,
            text=correction.text,
            updated_at=correction.updated_at.isoformat(),
        )


class CorrectionList(BaseModel):
    """The corrections of a track, in order of time."""

    corrections: list[CorrectionInfo]


@router.get(
    "/transcriptions/{transcription_id}/corrections", summary="List corrections of a transcript"
)
async def list_corrections(
    request: Request, caller: AuthenticatedCaller, transcription_id: str
) -> CorrectionList:
    """Return all corrections of the transcribed track, also those of earlier transcriptions."""
    found = await _transcription(request, caller, transcription_id)
    corrections = await services_of(request).transcripts.corrections(found)
    return CorrectionList(corrections=[CorrectionInfo.of(each) for each in corrections])


@router.put(
    "/transcriptions/{transcription_id}/corrections/{start_ms}",
    openapi_extra=json_body(PutCorrection),
    summary="Correct a part of a transcript",
)
async def put_correction(
    request: Request, caller: AuthenticatedCaller, transcription_id: str, *, start_ms: StartMs
) -> CorrectionInfo:
    """Replace the words in a span, and the corrections within it."""
    body = await read_json(request, PutCorrection, max_bytes=MAX_BODY_BYTES)
    if body.end_ms <= start_ms:
        raise InvalidCorrection(
            f"the correction must end after it starts: end_ms is {body.end_ms}, but it starts at"
            f" {start_ms}",
            field="end_ms",
        )
    found = await _transcription(request, caller, transcription_id)
    corrected = await services_of(request).transcripts.correct(
        found, start_ms=start_ms, end_ms=body.end_ms, text=body.text
    )
    return CorrectionInfo.of(corrected)


@router.delete(
    "/transcriptions/{transcription_id}/corrections/{start_ms}",
    summary="Delete a correction of a transcript",
)
async def delete_correction(
    request: Request, caller: AuthenticatedCaller, transcription_id: str, *, start_ms: StartMs
) -> CorrectionInfo:
    """Delete a correction, and return what it was."""
    found = await _transcription(request, caller, transcription_id)
    removed = await services_of(request).transcripts.remove_correction(found, start_ms)
    return CorrectionInfo.of(removed)


async def _transcription(request: Request, caller: Caller, text: str) -> Transcription:
    transcripts = services_of(request).transcripts
    return await transcripts.get(caller.organization.id, transcription_id_of(text))
