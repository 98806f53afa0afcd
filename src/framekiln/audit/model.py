"""Actors and events of the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from framekiln.kit.ids import OrganizationId


class ActorType(StrEnum):
    """What kind of actor changed something."""

    USER = "user"
    API_KEY = "api_key"
    LINK = "link"
    COMMAND_LINE = "command_line"
    SERVICE = "service"


@dataclass(frozen=True)
class Actor:
    """Who changes something; ids and names are those of that time."""

    type: ActorType
    id: str | None = None
    name: str | None = None
    address: str | None = None
    """The network address of the request."""


@dataclass(frozen=True)
class NewAuditEvent:
    """A change that somebody makes."""

    organization_id: OrganizationId
    happened_at: datetime
    actor: Actor
    action: str
    """`area.event`."""
    resource: str | None
    details: Mapping[str, Any]


@dataclass(frozen=True)
class AuditEvent(NewAuditEvent):
    """A change that was recorded."""

    position: int


@dataclass(frozen=True)
class AuditFilter:
    """Which events are wanted; None means all."""

    action: str | None = None
    """An action, or an area for all of its actions."""
    actor: str | None = None
    """The id or the name of an actor."""
    resource: str | None = None
    since: datetime | None = None
    until: datetime | None = None
