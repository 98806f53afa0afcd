"""/api/v1/pipeline-batches: one pipeline over many files, a limited number at a time (spec 4.7)."""

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json_value
from framekiln.api.v1.pages import PageParameters
from framekiln.api.v1.pipeline_access import IdempotencyKey, PipelineCaller, parse_path_id
from framekiln.api.v1.pipeline_bodies import BatchCreated, BatchDetail, BatchInfo, BatchList
from framekiln.pipelines.errors import BatchNotFound
from framekiln.pipelines.model.pipeline import BatchId
from framekiln.pipelines.services.requests import BatchRequest, read_batch

router = APIRouter(prefix="/api/v1", tags=["pipelines"])

# A thousand runs, each with its own id.
MAX_BODY_BYTES = 4 << 20


@router.post(
    "/pipeline-batches",
    status_code=201,
    openapi_extra=json_body(BatchRequest, names_unknown=False),
    summary="Run a pipeline over many files",
    responses={
        200: {"model": BatchCreated, "description": "The batch that was created with this key"}
    },
)
async def create_batch(
    request: Request,
    response: Response,
    caller: PipelineCaller,
    *,
    key: IdempotencyKey,
) -> BatchCreated:
    """Create one run for each file; at most `max_in_flight` are active at a time."""
    new_batch = read_batch(await read_json_value(request, max_bytes=MAX_BODY_BYTES))
    batches = services_of(request).pipelines.batches
    batch, is_new = await batches.create(caller, new_batch, idempotency_key=key)
    response.status_code = 201 if is_new else 200
    return BatchCreated(batch=BatchInfo.of(batch), created=is_new)


@router.get("/pipeline-batches", summary="List batches")
async def list_batches(
    request: Request, caller: PipelineCaller, query: PageParameters
) -> BatchList:
    """Return a page of batches, newest first."""
    batches = services_of(request).pipelines.batches
    found = await batches.page(caller.organization.id, query.page_request)
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return BatchList(batches=[BatchInfo.of(each) for each in page], next_cursor=next_cursor)


@router.get("/pipeline-batches/{batch_id}", summary="Show a batch")
async def get_batch(request: Request, caller: PipelineCaller, batch_id: str) -> BatchDetail:
    """Return a batch with the status counts of its runs."""
    found = BatchId(parse_path_id(batch_id, BatchNotFound, "there is no batch"))
    batches = services_of(request).pipelines.batches
    return BatchDetail.of(await batches.get(caller.organization.id, found))


@router.post("/pipeline-batches/{batch_id}/cancel", summary="Cancel a batch")
async def cancel_batch(request: Request, caller: PipelineCaller, batch_id: str) -> BatchDetail:
    """Cancel all runs of a batch that have not ended; those that have are kept."""
    pipelines, owner = services_of(request).pipelines, caller.organization.id
    found = BatchId(parse_path_id(batch_id, BatchNotFound, "there is no batch"))
    await pipelines.batches.get(owner, found)
    await pipelines.runs.cancel_batch(owner, found)
    return BatchDetail.of(await pipelines.batches.get(owner, found))
