"""/v2/bulks: many videos of one template, a row of data for each."""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.destination_bodies import bulk_destinations
from framekiln.api.v2.bulk_bodies import (
    BulkAnswer,
    BulkList,
    BulkRowList,
    CreatedBulkAnswer,
    bulk_info,
    bulk_row_info,
)
from framekiln.api.v2.bulk_rows import (
    CSV_TYPES,
    JSON_LINES_TYPES,
    posted_version,
    read_posted_rows,
    rows_problem,
)
from framekiln.api.v2.openapi_bodies import DESTINATIONS
from framekiln.api.v2.pages import PageParam, page_answer
from framekiln.services import Services
from framekiln.videos.bulks.archive import ArchiveMember, stream_archive
from framekiln.videos.bulks.model import MAX_ROWS, Bulk, BulkRequest, RowStatus
from framekiln.videos.bulks.row_check import InvalidRows
from framekiln.videos.errors import VideoNotFound
from framekiln.videos.templates.service import MAX_VERSIONS

router = APIRouter(prefix="/v2", tags=["templates"])

_COLUMNS: Final = ("row", "status", "video_id", "download_url", "error_code", "error_message")
_ROWS: Final[dict[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_ROWS,
    "items": {"type": "object", "description": "Values by the names of inputs."},
}
_TEXT: Final = {"schema": {"type": "string"}}
_CREATE_BULK: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        _ROWS,
                        {
                            "type": "object",
                            "properties": {
                                "rows": _ROWS,
                                "version": {"type": "integer"},
                                "destinations": DESTINATIONS,
                            },
                            "required": ["rows"],
                        },
                    ]
                }
            },
            JSON_LINES_TYPES[0]: _TEXT,
            JSON_LINES_TYPES[1]: _TEXT,
            CSV_TYPES[0]: _TEXT,
        },
    }
}
_KEY: Final = Header(
    alias="Idempotency-Key",
    min_length=1,
    max_length=255,
    pattern=r"^[\x20-\x7e]+$",
    description="1 to 255 characters; a repeated request returns the first result.",
)


@router.post(
    "/templates/{template_id}/bulk",
    status_code=201,
    response_model=CreatedBulkAnswer,
    response_model_exclude_unset=True,
    openapi_extra=_CREATE_BULK,
    summary="Create many videos from a template",
)
async def create_bulk(
    request: Request,
    response: Response,
    caller: AuthenticatedCaller,
    template_id: str,
    version: Annotated[int | None, Query(ge=1, le=MAX_VERSIONS)] = None,
    key: Annotated[str | None, _KEY] = None,
) -> Any:
    """Check all rows, then make a video of each; nothing starts if any row is wrong."""
    services = services_of(request)
    template = await services.v2.templates.get(caller.organization.id, template_id)
    try:
        posted = await read_posted_rows(request)
        addresses, also_write = await bulk_destinations(
            services, posted.destinations, template, row_count=len(posted.rows)
        )
        asked = BulkRequest(posted.rows, posted_version(posted, version), key, addresses)
        created = await services.v2.bulks.create(caller, template_id, asked, also_write=also_write)
    except InvalidRows as error:
        return JSONResponse(rows_problem(error), status_code=422)
    if not created.is_new:
        response.status_code = 200
    found = [each.as_json() for each in posted.warnings]
    found += [each.as_json() for each in created.warnings]
    extra = {"warnings": found} if found else {}
    return CreatedBulkAnswer(data=bulk_info(created.counted), **extra)


@router.get("/bulks", response_model_exclude_unset=True, summary="List bulks")
async def list_bulks(request: Request, caller: AuthenticatedCaller, asked: PageParam) -> BulkList:
    """Return a page of bulks, newest first."""
    page = await services_of(request).v2.bulks.list(caller.organization.id, asked)
    return BulkList(**page_answer(request, page, bulk_info))


@router.get("/bulks/{bulk_id}", response_model_exclude_unset=True, summary="Show a bulk")
async def get_bulk(request: Request, caller: AuthenticatedCaller, bulk_id: str) -> BulkAnswer:
    """Return a bulk with the number of its rows by status; safe to poll."""
    found = await services_of(request).v2.bulks.get(caller.organization.id, bulk_id)
    return BulkAnswer(data=bulk_info(found))


@router.get(
    "/bulks/{bulk_id}/rows", response_model_exclude_unset=True, summary="List the rows of a bulk"
)
async def list_bulk_rows(
    request: Request, caller: AuthenticatedCaller, bulk_id: str, asked: PageParam
) -> BulkRowList:
    """Return a page of rows with their results, in order."""
    services = services_of(request)
    page = await services.v2.bulks.rows(caller.organization.id, bulk_id, asked)
    base_url = services.settings.public_url
    return BulkRowList(**page_answer(request, page, lambda row: bulk_row_info(row, base_url)))


@router.post("/bulks/{bulk_id}/cancel", response_model_exclude_unset=True, summary="Cancel a bulk")
async def cancel_bulk(request: Request, caller: AuthenticatedCaller, bulk_id: str) -> BulkAnswer:
    """Start no more rows and stop those under way; finished videos stay."""
    found = await services_of(request).v2.bulks.cancel(caller.organization.id, bulk_id)
    return BulkAnswer(data=bulk_info(found))


@router.get(
    "/bulks/{bulk_id}/manifest",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {}, "text/csv": _TEXT}}},
    summary="Download the results of a bulk as a table",
)
async def get_bulk_manifest(
    request: Request,
    caller: AuthenticatedCaller,
    bulk_id: str,
    format: Literal["json", "csv"] = "json",
) -> Response:
    """Return one entry for each row; also while the bulk is running."""
    services = services_of(request)
    bulk = (await services.v2.bulks.get(caller.organization.id, bulk_id)).bulk
    lines = _csv_lines(services, bulk) if format == "csv" else _json_lines(services, bulk)
    headers = {"Content-Disposition": f'attachment; filename="{bulk.id}.{format}"'}
    media_type = "text/csv; charset=utf-8" if format == "csv" else "application/json"
    return StreamingResponse(lines, media_type=media_type, headers=headers)


@router.get(
    "/bulks/{bulk_id}/download",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
    },
    summary="Download all videos of a bulk as a ZIP file",
)
async def download_bulk(request: Request, caller: AuthenticatedCaller, bulk_id: str) -> Response:
    """Send the finished videos of a bulk that has ended, and `manifest.json`."""
    services = services_of(request)
    bulk = await services.v2.bulks.get_ended(caller.organization.id, bulk_id)
    headers = {"Content-Disposition": f'attachment; filename="{bulk.id}.zip"'}
    if request.method == "HEAD":
        return Response(headers=headers, media_type="application/zip")
    archive = stream_archive(_members(services, bulk), at=bulk.created_at)
    return StreamingResponse(archive, media_type="application/zip", headers=headers)


async def _members(services: Services, bulk: Bulk) -> AsyncIterator[ArchiveMember]:
    async for row in services.v2.bulks.all_rows(bulk):
        if row.status is not RowStatus.READY or row.video_id is None:
            continue
        try:
            video = await services.v2.videos.get(bulk.organization_id, row.video_id)
        except VideoNotFound:
            # Deleted while the archive is sent.
            continue
        made = video.render.result
        if made is not None:
            name = video.filename.replace("/", "_").replace("\\", "_")
            content = services.blobs.stream(made.output_key)
            yield ArchiveMember(f"{row.number:05d}-{name}", made.byte_size, content)
    yield ArchiveMember("manifest.json", 0, _json_lines(services, bulk))


async def _entries(services: Services, bulk: Bulk) -> AsyncIterator[dict[str, Any]]:
    async for row in services.v2.bulks.all_rows(bulk):
        info = bulk_row_info(row, services.settings.public_url).model_dump(exclude_unset=True)
        error = info.pop("error", {})
        yield {**info, **{f"error_{name}": value for name, value in error.items()}}


async def _json_lines(services: Services, bulk: Bulk) -> AsyncIterator[bytes]:
    before = b"[\n"
    async for entry in _entries(services, bulk):
        yield before + json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
        before = b",\n"
    yield b"\n]\n"


async def _csv_lines(services: Services, bulk: Bulk) -> AsyncIterator[bytes]:
    line = io.StringIO()
    writer = csv.DictWriter(line, _COLUMNS, extrasaction="ignore")
    writer.writeheader()
    async for entry in _entries(services, bulk):
        writer.writerow(entry)
        yield line.getvalue().encode("utf-8", "replace")
        line.seek(0)
        line.truncate()
