"""/api/v1/files/:id/metadata: what steps have found out about a file (spec 4.7)."""

from fastapi import APIRouter, Request

from framekiln.api.auth import services_of
from framekiln.api.v1.pipeline_access import PipelineCaller
from framekiln.api.v1.pipeline_bodies import NamespaceInfo, NamespaceList, NamespaceOutputs
from framekiln.api.v1.pipeline_pages import PageParameters, read_cursor, write_cursor
from framekiln.files.ids import parse_file_id

router = APIRouter(prefix="/api/v1", tags=["pipelines"])


@router.get("/files/{file_id}/metadata", summary="List the namespaces of a file")
async def list_namespaces(
    request: Request, caller: PipelineCaller, asked: PageParameters, *, file_id: str
) -> NamespaceList:
    """Return a page of namespaces, by name, with who wrote last to each."""
    found = await services_of(request).pipelines.outputs.list_namespaces(
        caller.organization.id,
        parse_file_id(file_id),
        after=read_cursor(asked.cursor),
        limit=asked.limit + 1,
    )
    page, next_cursor = asked.page_of(found, lambda each: each.namespace)
    shown = [NamespaceInfo.of(each) for each in page]
    return NamespaceList(namespaces=shown, next_cursor=next_cursor)


@router.get("/files/{file_id}/metadata/{namespace}", summary="The latest outputs in a namespace")
async def get_namespace(
    request: Request, caller: PipelineCaller, asked: PageParameters, *, file_id: str, namespace: str
) -> NamespaceOutputs:
    """Return a page of what was last written to a namespace, by whichever run."""
    latest, page = await services_of(request).pipelines.outputs.find_latest(
        caller.organization.id,
        parse_file_id(file_id),
        namespace,
        after=asked.position,
        limit=asked.limit,
    )
    next_cursor = None if page.next_number is None else write_cursor(page.next_number)
    return NamespaceOutputs.describe(latest, page.outputs, next_cursor)
