"""The files that runs are made over: they must be there, and be videos."""

from collections.abc import Sequence

from framekiln.db.pool import Connection
from framekiln.files.errors import FileNotFound
from framekiln.files.model import FileType
from framekiln.kit.ids import FileId, OrganizationId
from framekiln.pipelines.errors import invalid_request
from framekiln.pipelines.forms.issues import Code, Issue
from framekiln.pipelines.tables.run import store


async def lock_files(
    connection: Connection,
    organization_id: OrganizationId,
    file_ids: Sequence[FileId],
    *,
    paths: Sequence[str] | None = None,
) -> None:
    """Keep files as they stand until the transaction ends, or raise if one cannot be used.

    `paths` say where each stands in a request for many. A file that becomes ready tells the runs
    over it. While it is locked it waits with that, so no run comes too late to be told.
    """
    found = await store.lock_files(connection, organization_id, file_ids)
    missing = [str(file_id) for file_id in file_ids if file_id not in found]
    if missing:
        details = {} if paths is None else {"file_ids": missing}
        raise FileNotFound(_describe_missing(missing, len(file_ids)), **details)
    issues = [
        Issue(path, Code.NOT_ALLOWED)
        for path, file_id in zip(paths or ("file_id",), file_ids, strict=True)
        if found[file_id] is not FileType.VIDEO
    ]
    if issues:
        raise invalid_request(issues)


def _describe_missing(missing: Sequence[str], count: int) -> str:
    if len(missing) == 1:
        return f"there is no file {missing[0]}"
    return f"{len(missing)} of the {count} files do not exist: file_ids names them"
