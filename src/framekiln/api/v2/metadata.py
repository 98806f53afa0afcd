"""/v2/metadata: what a file or an address holds, before anything is made of it."""

from typing import Any

from fastapi import APIRouter, Request

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.v2.forms import Form, field_error, open_form
from framekiln.api.v2.openapi_bodies import PROBE_FILE
from framekiln.api.v2.uploaded_files import saved_to_disk
from framekiln.composition.layers.field_types import address_problem
from framekiln.identity.model import Caller
from framekiln.kit.errors import FramekilnError
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.videos.metadata import ExpectedMedia, describe_source
from framekiln.videos.sources import is_source_at_fault, probe_file, source_error_code

router = APIRouter(prefix="/v2", tags=["videos"])


@router.post("/metadata", openapi_extra=PROBE_FILE, summary="Probe a file")
async def look_at_file(request: Request, caller: AuthenticatedCaller) -> dict[str, Any]:
    """Look at an uploaded file or an address as video, audio or image."""
    async with open_form(request) as form:
        expected = _expected_media(form)
        where = "file" if "file" in form.files else "url"
        try:
            return describe_source(await _probe(request, caller, form), expected)
        except FramekilnError as error:
            if error.details.get("issues") or not is_source_at_fault(error):
                raise
            raise field_error(
                where, source_error_code(error), f"{where}: {error.message}"
            ) from error


async def _probe(request: Request, caller: Caller, form: Form) -> ProbedSource:
    file = form.files.get("file")
    if file is not None:
        async with saved_to_disk(file) as upload:
            return await probe_file(upload.path)
    url = form.require_text("url", longest=8192).strip()
    problem = address_problem(url)
    if problem is not None:
        code, message = problem
        raise field_error("url", code, f"url {message}")
    sources = services_of(request).v2.sources
    return await sources.probe(caller.organization.id, url)


def _expected_media(form: Form) -> ExpectedMedia:
    value = form.values.get("type")
    if value is None:
        raise field_error("type", "required", "type is missing: video, audio or image")
    if value not in list(ExpectedMedia):
        raise field_error("type", "out_of_range", "type must be video, audio or image")
    return ExpectedMedia(value)
