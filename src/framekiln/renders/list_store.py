"""The SQL of lists of renders."""

from framekiln.db.newest_rows import NewestPage, list_newest_rows
from framekiln.db.pool import Connection
from framekiln.kit.ids import OrganizationId, RenderId
from framekiln.renders.model import RenderStatus, SourceKind

_OF_PAGES = [SourceKind.HTML, SourceKind.BUNDLE]


async def list_ids(
    connection: Connection,
    organization_id: OrganizationId,
    page: NewestPage,
    *,
    status: RenderStatus | None,
) -> list[RenderId]:
    """Return the ids of renders of pages, newest first."""
    rows = await list_newest_rows(
        connection,
        "render",
        organization_id,
        page=page,
        conditions={"source_kind = ANY(%s)": _OF_PAGES, "status = %s": status},
    )
    return [row["id"] for row in rows]
