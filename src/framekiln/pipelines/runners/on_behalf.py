"""On whose behalf a run asks other parts of the service: whoever began it."""

from framekiln.db.pool import Database
from framekiln.identity import store
from framekiln.identity.model import Caller
from framekiln.pipelines.errors import RunNotFound
from framekiln.pipelines.model.run import Run


async def caller_of(database: Database, run: Run) -> Caller:
    """Return who began a run; what is begun goes on when their key was revoked since."""
    async with database.connection() as connection:
        if run.api_key_id is not None:
            found = await store.find_key_by_id(connection, run.api_key_id)
            if found is not None:
                return Caller(organization=found.organization, api_key=found.key)
        organization = await store.find_organization(connection, run.organization_id)
    if organization is None:
        raise RunNotFound(f"the organization of run {run.id} is gone")
    return Caller(organization=organization)
