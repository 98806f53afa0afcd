"""/api/v1/files/:id/metadata: the outputs of steps about a file (spec 4.7)."""

from fastapi import APIRouter, Request

from framekiln.api.auth import services_of
from framekiln.api.v1.pages import PageParameters, read_cursor, write_cursor
from framekiln.api.v1.pipeline_access import PipelineCaller
from framekiln.api.v1.pipeline_bodies import NamespaceInfo, NamespaceList, NamespaceOutputs
from framekiln.files.ids import parse_file_id

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


@router.get("/files/{file_id}/metadata", summary="List the namespaces of a file")
async def list_namespaces(
    request: Request, caller: PipelineCaller, query: PageParameters, *, file_id: str
) -> NamespaceList:
    """Return a page of namespaces, by name, each with the last run that wrote to it."""
    found = await services_of(request).pipelines.outputs.list_namespaces(
        caller.organization.id,
        parse_file_id(file_id),
        after=read_cursor(query.cursor),
        limit=query.limit + 1,
    )
    page, next_cursor = query.page_of(found, lambda each: each.namespace)
    shown = [NamespaceInfo.of(each) for each in page]
    return NamespaceList(namespaces=shown, next_cursor=next_cursor)


@router.get(
    "/files/{file_id}/metadata/{namespace}", summary="Show the latest outputs in a namespace"
)
async def get_namespace(
    request: Request, caller: PipelineCaller, query: PageParameters, *, file_id: str, namespace: str
) -> NamespaceOutputs:
    """Return a page of the latest outputs in a namespace, of any run."""
    latest, page = await services_of(request).pipelines.outputs.find_latest(
        caller.organization.id,
        parse_file_id(file_id),
        namespace,
        after=query.position,
        limit=query.limit,
    )
    next_cursor = None if page.next_number is None else write_cursor(page.next_number)
    return NamespaceOutputs.describe(latest, page.outputs, next_cursor)
