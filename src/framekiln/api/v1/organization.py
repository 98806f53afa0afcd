"""GET /api/v1/organization: whose key this is. Clients call it to check that a key works."""

from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import AuthenticatedCaller

router = APIRouter(prefix="/api/v1", tags=["organization"])


class OrganizationView(BaseModel):
    """Camel case is what existing clients read; the snake case twins follow our other routes."""

    model_config = ConfigDict(populate_by_name=True)

    id: UUID
    name: str
    display_name_camel: str = Field(alias="displayName")
    display_name: str
    api_key_name_camel: str = Field(alias="apiKeyName")
    api_key_name: str
    pipelines_enabled_camel: bool = Field(alias="pipelinesEnabled")
    pipelines_enabled: bool


@router.get("/organization", summary="Whose API key this is")
async def get_organization(caller: AuthenticatedCaller) -> OrganizationView:
    """Answer 200 for a key that works and 401 for one that does not."""
    organization = caller.organization
    # Whoever is logged in has none.
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
