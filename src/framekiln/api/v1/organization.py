"""GET /api/v1/organization: the organization of a key. Clients call it to check a key."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import AuthenticatedCaller

router = APIRouter(prefix="/api/v1", tags=["organization"])


class OrganizationView(BaseModel):
    """The organization, in camel case for existing clients and in snake case like other routes."""

    model_config = ConfigDict(populate_by_name=True)

    id: UUID
    name: str
    display_name_camel: str = Field(alias="displayName")
    display_name: str
    api_key_name_camel: str = Field(alias="apiKeyName")
    api_key_name: str
    pipelines_enabled_camel: bool = Field(alias="pipelinesEnabled")
    pipelines_enabled: bool


@router.get("/organization", summary="Show the organization of the API key")
async def get_organization(caller: AuthenticatedCaller) -> OrganizationView:
    """Answer 200 for a valid key, else 401."""
    organization = caller.organization
    # A session has no API key.
    key_name = caller.api_key.name if caller.api_key else ""
    return OrganizationView(
        id=organization.id,
        name=organization.name,
        display_name_camel=organization.name,
        display_name=organization.name,
        api_key_name_camel=key_name,
        api_key_name=key_name,
        pipelines_enabled_camel=organization.pipelines_enabled,
        pipelines_enabled=organization.pipelines_enabled,
    )
