"""/api/v1/pipeline-endpoints: HTTP services of callers that run steps (spec 4.7)."""

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json_value
from framekiln.api.v1.pipeline_access import MAX_BODY_BYTES, PipelineCaller, parse_path_id
from framekiln.api.v1.pipeline_bodies import EndpointInfo, EndpointList, EndpointWithSecret
from framekiln.api.v1.pipeline_pages import ArchivableParameters
from framekiln.pipelines.errors import EndpointNotFound
from framekiln.pipelines.model.pipeline import EndpointId
from framekiln.pipelines.services.requests import EndpointRequest, read_body

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


@router.get("/pipeline-endpoints", summary="List endpoints")
async def list_endpoints(
    request: Request, caller: PipelineCaller, query: ArchivableParameters
) -> EndpointList:
    """Return a page of endpoints, newest first."""
    found = await services_of(request).pipelines.endpoints.page(
        caller.organization.id, query.page_request, include_archived=query.include_archived
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return EndpointList(endpoints=[EndpointInfo.of(each) for each in page], next_cursor=next_cursor)


@router.post(
    "/pipeline-endpoints",
    status_code=201,
    openapi_extra=json_body(EndpointRequest, names_unknown=False),
    summary="Register an endpoint",
)
async def create_endpoint(
    request: Request, response: Response, caller: PipelineCaller
) -> EndpointWithSecret:
    """Register an endpoint; its signing secret is shown only here."""
    body = await read_json_value(request, max_bytes=MAX_BODY_BYTES)
    new_endpoint = read_body(EndpointRequest, body)
    created = await services_of(request).pipelines.endpoints.create(
        caller.organization.id, new_endpoint
    )
    response.headers["Cache-Control"] = "no-store"
    return EndpointWithSecret.of(created)


@router.get("/pipeline-endpoints/{endpoint_id}", summary="Show an endpoint")
async def get_endpoint(request: Request, caller: PipelineCaller, endpoint_id: str) -> EndpointInfo:
    """Return an endpoint, archived or not."""
    endpoints = services_of(request).pipelines.endpoints
    return EndpointInfo.of(await endpoints.get(caller.organization.id, _endpoint_id(endpoint_id)))


@router.post("/pipeline-endpoints/{endpoint_id}/archive", summary="Archive an endpoint")
async def archive_endpoint(
    request: Request, caller: PipelineCaller, endpoint_id: str
) -> EndpointInfo:
    """Stop sending requests to an endpoint; runs that reach it fail."""
    endpoints, found = services_of(request).pipelines.endpoints, _endpoint_id(endpoint_id)
    return EndpointInfo.of(await endpoints.archive(caller.organization.id, found))


def _endpoint_id(text: str) -> EndpointId:
    return EndpointId(parse_path_id(text, EndpointNotFound, "there is no endpoint"))
