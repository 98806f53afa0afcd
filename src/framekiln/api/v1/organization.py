"""GET /api/v1/organization: the organization of a key. Clients call it to check a key."""

from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import AuthenticatedCaller, services_of

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
    quotas: dict[str, "QuotaView"]


class QuotaView(BaseModel):
    """A quota of the organization."""

    used: int | None = Field(description="null where it is not counted")
    limit: int | None = Field(description="null means no limit")


@router.get("/organization", summary="Show the organization of the API key")
async def get_organization(request: Request, caller: AuthenticatedCaller) -> OrganizationView:
    """Answer 200 for a valid key, else 401."""
    organization = caller.organization
    # A session has no API key.
    key_name = caller.api_key.name if caller.api_key else ""
    quotas = await services_of(request).quotas.usage(organization.id)
    return OrganizationView(
        id=organization.id,
        name=organization.name,
        display_name_camel=organization.name,
        display_name=organization.name,
        api_key_name_camel=key_name,
        api_key_name=key_name,
        pipelines_enabled_camel=organization.pipelines_enabled,
        pipelines_enabled=organization.pipelines_enabled,
        quotas={each.quota: QuotaView(used=each.used, limit=each.limit) for each in quotas},
    )
