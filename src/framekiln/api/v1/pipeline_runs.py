"""/api/v1/pipeline-runs: run a pipeline over a file, follow, stop and retry it (spec 4.7)."""

from fastapi import APIRouter, Request, Response

from framekiln.api.auth import services_of
from framekiln.api.bodies import json_body, read_json_value
from framekiln.api.v1.pages import PageParameters, write_cursor
from framekiln.api.v1.pipeline_access import (
    MAX_BODY_BYTES,
    IdempotencyKey,
    PipelineCaller,
    parse_path_id,
)
from framekiln.api.v1.pipeline_bodies import OutputItem, OutputList
from framekiln.api.v1.pipeline_pages import RunParameters
from framekiln.api.v1.pipeline_run_bodies import (
    EndpointAttemptInfo,
    EndpointAttemptList,
    RunCreated,
    RunInfo,
    RunList,
)
from framekiln.pipelines.errors import RunNotFound
from framekiln.pipelines.model.pipeline import RunId
from framekiln.pipelines.services.requests import RunRequest, read_body

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


@router.post(
    "/pipeline-runs",
    status_code=201,
    openapi_extra=json_body(RunRequest, names_unknown=False),
    summary="Run a pipeline over a file",
    responses={200: {"model": RunCreated, "description": "The run that was created with this key"}},
)
async def create_run(
    request: Request,
    response: Response,
    caller: PipelineCaller,
    *,
    key: IdempotencyKey,
) -> RunCreated:
    """Create a run; its steps start as soon as the file's media is available."""
    body = await read_json_value(request, max_bytes=MAX_BODY_BYTES)
    new_run = read_body(RunRequest, body)
    runs = services_of(request).pipelines.runs
    detail, is_new = await runs.create(caller, new_run, idempotency_key=key)
    response.status_code = 201 if is_new else 200
    return RunCreated.describe(detail, is_new=is_new)


@router.get("/pipeline-runs", summary="List runs")
async def list_runs(request: Request, caller: PipelineCaller, query: RunParameters) -> RunList:
    """Return a page of runs, newest first."""
    found = await services_of(request).pipelines.runs.page(
        caller.organization.id, query.filter, query.page_request
    )
    page, next_cursor = query.page_of(found, lambda each: each.run.position)
    return RunList(runs=[RunInfo.of(each) for each in page], next_cursor=next_cursor)


@router.get("/pipeline-runs/{run_id}", summary="Show a run")
async def get_run(request: Request, caller: PipelineCaller, run_id: str) -> RunInfo:
    """Return a run with its steps; safe to poll."""
    runs = services_of(request).pipelines.runs
    return RunInfo.of(await runs.get(caller.organization.id, _run_id(run_id)))


@router.get("/pipeline-runs/{run_id}/attempts", summary="List attempts of endpoint steps")
async def list_attempts(
    request: Request, caller: PipelineCaller, run_id: str
) -> EndpointAttemptList:
    """Return when each request to an endpoint waited, was sent and ended; the latest thousand."""
    runs = services_of(request).pipelines.runs
    found = await runs.attempts(caller.organization.id, _run_id(run_id))
    return EndpointAttemptList(attempts=[EndpointAttemptInfo.of(each) for each in found])


@router.post("/pipeline-runs/{run_id}/cancel", summary="Cancel a run")
async def cancel_run(request: Request, caller: PipelineCaller, run_id: str) -> RunInfo:
    """Stop a run immediately; late results are refused."""
    runs = services_of(request).pipelines.runs
    return RunInfo.of(await runs.cancel(caller.organization.id, _run_id(run_id)))


@router.post("/pipeline-runs/{run_id}/retry", summary="Retry a run")
async def retry_run(request: Request, caller: PipelineCaller, run_id: str) -> RunInfo:
    """Continue where a run failed or was stopped; successful steps are kept."""
    runs = services_of(request).pipelines.runs
    return RunInfo.of(await runs.retry(caller.organization.id, _run_id(run_id)))


@router.get(
    "/pipeline-runs/{run_id}/outputs/{namespace}",
    summary="List the outputs of a run in a namespace",
)
async def list_outputs(
    request: Request, caller: PipelineCaller, query: PageParameters, *, run_id: str, namespace: str
) -> OutputList:
    """Return a page of outputs, one for each window, or one for the whole file."""
    page = await services_of(request).pipelines.outputs.list_by_run(
        caller.organization.id,
        _run_id(run_id),
        namespace,
        after=query.position,
        limit=query.limit,
    )
    next_cursor = None if page.next_number is None else write_cursor(page.next_number)
    return OutputList(
        outputs=[OutputItem.of(each) for each in page.outputs], next_cursor=next_cursor
    )


def _run_id(text: str) -> RunId:
    return RunId(parse_path_id(text, RunNotFound, "there is no run"))
