"""What other packages read of organizations and keys, in a transaction of theirs."""

from framekiln.db.pool import Connection
from framekiln.identity import store
from framekiln.identity.model import Caller
from framekiln.kit.ids import ApiKeyId, OrganizationId


async def find_initiator(
    connection: Connection, organization_id: OrganizationId, api_key_id: ApiKeyId | None
) -> Caller | None:
    """Return the caller that work belongs to, even if its key was revoked since."""
    if api_key_id is not None:
        found = await store.find_key_by_id(connection, api_key_id)
        if found is not None:
            return Caller(organization=found.organization, api_key=found.key)
    organization = await store.find_organization(connection, organization_id)
    return None if organization is None else Caller(organization=organization)
