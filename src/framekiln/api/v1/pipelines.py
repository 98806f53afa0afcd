"""/api/v1/pipelines: named graphs of steps, and their versions (spec 4.7)."""

from typing import Any, Final

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from framekiln.api.auth import services_of
from framekiln.api.bodies import REFERENCE, read_json_value, schema_body
from framekiln.api.v1.pages import PageParameters
from framekiln.api.v1.pipeline_access import MAX_DEFINITION_BYTES, PipelineCaller, parse_path_id
from framekiln.api.v1.pipeline_bodies import (
    DefinitionCheck,
    IssueInfo,
    PipelineCreated,
    PipelineDetail,
    PipelineInfo,
    PipelineList,
    VersionCreated,
    VersionInfo,
    VersionList,
    WarningInfo,
)
from framekiln.api.v1.pipeline_pages import ArchivableParameters
from framekiln.pipelines.errors import PipelineNotFound, VersionNotFound, invalid_request
from framekiln.pipelines.model.pipeline import PipelineId
from framekiln.pipelines.schema.issues import IssueCode, ValidationIssue
from framekiln.pipelines.services.requests import PipelineRequest, read_body
from framekiln.pipelines.wiring import definition_schema

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


_DEFINITION: Final = "PipelineDefinition"
_DEFINITION_REF: Final = REFERENCE.format(model=_DEFINITION)


def _creation_schema() -> dict[str, Any]:
    schema: dict[str, Any] = TypeAdapter(PipelineRequest).json_schema(ref_template=REFERENCE)
    schema["properties"]["definition"] = {"$ref": _DEFINITION_REF}
    return schema


def definition_schemas() -> dict[str, Any]:
    """Return the shared schemas of the OpenAPI document that describe definitions."""
    schema = definition_schema(REFERENCE)
    return {**schema.pop("$defs"), _DEFINITION: schema}


@router.get("/pipelines", summary="List pipelines")
async def list_pipelines(
    request: Request, caller: PipelineCaller, query: ArchivableParameters
) -> PipelineList:
    """Return a page of pipelines, newest first."""
    found = await services_of(request).pipelines.pipelines.page(
        caller.organization.id, query.page_request, include_archived=query.include_archived
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return PipelineList(pipelines=[PipelineInfo.of(each) for each in page], next_cursor=next_cursor)


@router.post(
    "/pipelines",
    status_code=201,
    openapi_extra=schema_body(_creation_schema(), names_unknown=False),
    summary="Create a pipeline",
)
async def create_pipeline(request: Request, caller: PipelineCaller) -> PipelineCreated:
    """Create a pipeline with its first version."""
    body = await read_json_value(request, max_bytes=MAX_DEFINITION_BYTES)
    name, definition = _named_definition(body)
    pipelines = services_of(request).pipelines.pipelines
    created, version = await pipelines.create(caller.organization.id, name, definition)
    shown = PipelineDetail.describe(created, version)
    warnings = WarningInfo.all_of(pipelines.warnings(definition))
    return PipelineCreated(**vars(shown), warnings=warnings)


@router.post(
    "/pipelines/validate",
    openapi_extra=schema_body({"$ref": _DEFINITION_REF}, names_unknown=False),
    summary="Check a definition without storing it",
)
async def validate_definition(request: Request, caller: PipelineCaller) -> DefinitionCheck:
    """Return all issues and warnings of a definition; the status is 200 in any case."""
    definition = await read_json_value(request, max_bytes=MAX_DEFINITION_BYTES)
    pipelines = services_of(request).pipelines.pipelines
    issues = await pipelines.issues(caller.organization.id, definition)
    warnings = [] if issues else WarningInfo.all_of(pipelines.warnings(definition))
    return DefinitionCheck(
        valid=not issues,
        issues=[IssueInfo(path=each.path, code=str(each.code)) for each in issues],
        warnings=warnings,
    )


@router.get("/pipelines/{pipeline_id}", summary="Show a pipeline")
async def get_pipeline(
    request: Request, caller: PipelineCaller, pipeline_id: str
) -> PipelineDetail:
    """Return a pipeline with its latest version."""
    return await _detail(request, caller, _pipeline_id(pipeline_id))


@router.post("/pipelines/{pipeline_id}/archive", summary="Archive a pipeline")
async def archive_pipeline(
    request: Request, caller: PipelineCaller, pipeline_id: str
) -> PipelineDetail:
    """Archive a pipeline: it accepts no new versions or runs, and its name is free again."""
    found = _pipeline_id(pipeline_id)
    await services_of(request).pipelines.pipelines.archive(caller.organization.id, found)
    return await _detail(request, caller, found)


router.add_api_route(
    "/pipelines/{pipeline_id}",
    archive_pipeline,
    methods=["DELETE"],
    operation_id="delete_pipeline",
    summary="Archive a pipeline; nothing is deleted",
)


@router.get("/pipelines/{pipeline_id}/versions", summary="List the versions of a pipeline")
async def list_versions(
    request: Request, caller: PipelineCaller, query: PageParameters, *, pipeline_id: str
) -> VersionList:
    """Return a page of versions, newest first."""
    found = await services_of(request).pipelines.pipelines.versions(
        caller.organization.id, _pipeline_id(pipeline_id), query.page_request
    )
    page, next_cursor = query.page_of(found, lambda each: each.number)
    return VersionList(versions=[VersionInfo.of(each) for each in page], next_cursor=next_cursor)


@router.post(
    "/pipelines/{pipeline_id}/versions",
    status_code=201,
    openapi_extra=schema_body({"$ref": _DEFINITION_REF}, names_unknown=False),
    summary="Add a version",
    responses={
        200: {"model": VersionCreated, "description": "A version with the same digest exists"}
    },
)
async def create_version(
    request: Request, response: Response, caller: PipelineCaller, pipeline_id: str
) -> VersionCreated:
    """Add a version from a definition, which is the body or its `definition` field."""
    body = await read_json_value(request, max_bytes=MAX_DEFINITION_BYTES)
    is_wrapped = isinstance(body, dict) and set(body) == {"definition"}
    definition = body["definition"] if is_wrapped else body
    pipelines = services_of(request).pipelines.pipelines
    version, is_new = await pipelines.add_version(
        caller.organization.id, _pipeline_id(pipeline_id), definition
    )
    response.status_code = 201 if is_new else 200
    return VersionCreated(
        version=VersionInfo.of(version),
        created=is_new,
        warnings=WarningInfo.all_of(pipelines.warnings(definition)),
    )


@router.get("/pipelines/{pipeline_id}/versions/{number}", summary="Show a version")
async def get_version(
    request: Request, caller: PipelineCaller, pipeline_id: str, *, number: str
) -> VersionInfo:
    """Return one version of a pipeline."""
    found = _pipeline_id(pipeline_id)
    if not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise VersionNotFound(f"there is no version {number[:100]!r}: versions are numbered from 1")
    version = await services_of(request).pipelines.pipelines.version(
        caller.organization.id, found, int(number)
    )
    return VersionInfo.of(version)


async def _detail(
    request: Request, caller: PipelineCaller, pipeline_id: PipelineId
) -> PipelineDetail:
    catalogue, organization_id = services_of(request).pipelines.pipelines, caller.organization.id
    pipeline = await catalogue.get(organization_id, pipeline_id)
    latest = await catalogue.version(organization_id, pipeline_id, pipeline.latest_version)
    return PipelineDetail.describe(pipeline, latest)


def _named_definition(body: Any) -> tuple[str, Any]:
    if isinstance(body, dict) and "definition" not in body:
        raise invalid_request([ValidationIssue("definition", IssueCode.REQUIRED)])
    request = read_body(PipelineRequest, body)
    return request.name, request.definition


def _pipeline_id(text: str) -> PipelineId:
    return PipelineId(parse_path_id(text, PipelineNotFound, "there is no pipeline"))
