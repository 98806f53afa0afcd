"""/v2/metadata: what a file or an address holds, before anything is made of it."""

from typing import Any

from fastapi import APIRouter, Request

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.v2.forms import Form, reading_form, wrong
from framekiln.api.v2.sent_files import on_disk
from framekiln.api.v2.shapes import LOOK_AT_FILE
from framekiln.composition.layers.kinds import address_problem
from framekiln.identity.model import Caller
from framekiln.kit.errors import FramekilnError
from framekiln.media.probed_source import ProbedSource
from framekiln.videos.looking import LookedAs, describe
from framekiln.videos.sources import code_of, is_at_fault, probe_file

router = APIRouter(prefix="/v2", tags=["videos"])


@router.post("/metadata", openapi_extra=LOOK_AT_FILE, summary="What a file holds")
async def look_at_file(request: Request, caller: AuthenticatedCaller) -> dict[str, Any]:
    """Look at an uploaded file or an address as video, audio or image."""
    async with reading_form(request) as form:
        looked_as = _looked_as(form)
        where = "file" if "file" in form.files else "url"
        try:
            return describe(await _probe(request, caller, form), looked_as)
        except FramekilnError as error:
            if error.details.get("issues") or not is_at_fault(error):
                raise
            raise wrong(where, code_of(error), f"{where}: {error.message}") from error


async def _probe(request: Request, caller: Caller, form: Form) -> ProbedSource:
    file = form.files.get("file")
    if file is not None:
        async with on_disk(file) as upload:
            return await probe_file(upload.path)
    url = form.require_text("url", longest=8192).strip()
    problem = address_problem(url)
    if problem is not None:
        code, message = problem
        raise wrong("url", code, f"url {message}")
    sources = services_of(request).v2.sources
    return await sources.probe(caller.organization.id, url)


def _looked_as(form: Form) -> LookedAs:
    value = form.values.get("type")
    if value is None:
        raise wrong("type", "required", "type is missing: video, audio or image")
    if value not in list(LookedAs):
        raise wrong("type", "out_of_range", "type must be video, audio or image")
    return LookedAs(value)
