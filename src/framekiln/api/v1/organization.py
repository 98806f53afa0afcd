"""GET /api/v1/organization: the organization of a key. Clients call it to check a key."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.quotas.model import MAX_USAGE_DAYS, DayUsage
from framekiln.quotas.service import MS_PER_MINUTE

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


class DayUsageView(BaseModel):
    """What was used on a day, in UTC."""

    day: date
    renders: int = Field(description="Films that were made, without those from the cache.")
    render_minutes: float = Field(description="Minutes of film.")
    stored_bytes: int | None = Field(description="At the end of the day; null if not known.")
    downloaded_bytes: int = Field(description="Bytes fetched by URL.")
    requests: int = Field(description="Requests to the API; a few seconds may be missing.")

    @classmethod
    def of(cls, used: DayUsage) -> "DayUsageView":
        """Describe a day."""
        return cls(
            day=used.day,
            renders=used.renders,
            render_minutes=round(used.render_ms / MS_PER_MINUTE, 3),
            stored_bytes=used.stored_bytes,
            downloaded_bytes=used.downloaded_bytes,
            requests=used.requests,
        )


class UsageView(BaseModel):
    """What the organization used, day by day."""

    days: list[DayUsageView]


@router.get("/organization/usage", summary="Show what the organization used each day")
async def get_usage(
    request: Request,
    caller: AuthenticatedCaller,
    days: Annotated[
        int, Query(ge=1, le=MAX_USAGE_DAYS, description="How many; today counts.")
    ] = 30,
) -> UsageView:
    """Return the last days, oldest first; the last one is today."""
    found = await services_of(request).quotas.days(caller.organization.id, days)
    return UsageView(days=[DayUsageView.of(each) for each in found])


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
