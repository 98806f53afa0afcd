"""GET /api/v1/audit: who changed what in the organization, for its owners and for API keys."""

import re
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field

from framekiln.api.auth import AuthenticatedCaller, services_of
from framekiln.api.v1.pages import ListQuery
from framekiln.audit.model import ActorType, AuditEvent, AuditFilter

router = APIRouter(prefix="/api/v1", tags=["organization"])


_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def _check_instant(text: object) -> object:
    """Refuse what pydantic would read as a number of seconds."""
    if not isinstance(text, str) or not _RFC3339.fullmatch(text):
        raise ValueError("must be a time with a zone, such as 2026-11-18T09:30:00Z")
    return text


Instant = Annotated[AwareDatetime, BeforeValidator(_check_instant)]


class AuditQuery(ListQuery):
    """Which events are wanted."""

    action: str | None = Field(
        default=None,
        max_length=100,
        description="An action such as `key.created`, or an area such as `key`.",
    )
    actor: str | None = Field(
        default=None,
        max_length=300,
        description="The e-mail address or the id of a user, or the name or the id of a key.",
    )
    resource: str | None = Field(default=None, max_length=300, description="The id of a resource.")
    since: Instant | None = Field(default=None, description="The first time, with a zone.")
    until: Instant | None = Field(default=None, description="The end, with a zone.")

    @property
    def filter(self) -> AuditFilter:
        """The filter of the query; a field that is empty in a form is none."""
        return AuditFilter(
            action=self.action or None,
            actor=self.actor or None,
            resource=self.resource or None,
            since=self.since,
            until=self.until,
        )


class AuditActor(BaseModel):
    """Who changed something."""

    type: ActorType
    id: str | None = Field(description="The id of a user, the key id of a key, the id of a link.")
    name: str | None = Field(description="The e-mail address of a user, the name of a key.")
    address: str | None = Field(description="The network address of the request.")


class AuditEventInfo(BaseModel):
    """A change."""

    id: str
    happened_at: datetime
    actor: AuditActor
    action: str
    resource: str | None = Field(description="The id of what was changed.")
    details: dict[str, Any]

    @classmethod
    def of(cls, event: AuditEvent) -> "AuditEventInfo":
        """Describe an event."""
        return cls(
            id=str(event.position),
            happened_at=event.happened_at,
            actor=AuditActor(**vars(event.actor)),
            action=event.action,
            resource=event.resource,
            details=dict(event.details),
        )


class AuditPage(BaseModel):
    """A page of the audit log."""

    events: list[AuditEventInfo]
    next_cursor: str | None


@router.get("/audit", summary="Read the audit log")
async def list_events(
    request: Request, caller: AuthenticatedCaller, query: Annotated[AuditQuery, Query()]
) -> AuditPage:
    """Return a page of changes, newest first."""
    found = await services_of(request).audit.page(
        caller.organization.id, query.filter, limit=query.limit + 1, before=query.position
    )
    page, next_cursor = query.page_of(found, lambda each: each.position)
    return AuditPage(events=[AuditEventInfo.of(each) for each in page], next_cursor=next_cursor)
