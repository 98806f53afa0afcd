"""Templates: stored and new ones."""

from dataclasses import dataclass
from datetime import datetime

from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.videos.model import Json
from framekiln.videos.public_ids import TemplateId


@dataclass(frozen=True)
class NewTemplate:
    """A template that a caller sent; only its name is validated."""

    name: str
    config: object
    inputs: object
    default_values: object


@dataclass(frozen=True)
class TemplateSummary:
    """One template without its content, which may be long."""

    id: TemplateId
    name: str
    version: int
    created_at: datetime
    """When the template was created, whatever the version."""


@dataclass(frozen=True)
class StoredTemplate(TemplateSummary):
    """One template; config, inputs and default values are stored as sent."""

    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    config: Json
    inputs: Json
    default_values: Json


@dataclass(frozen=True)
class TemplateVersion:
    """One version of a template, without its content."""

    number: int
    name: str
    created_at: datetime


@dataclass(frozen=True)
class TemplateSource:
    """One version of a template with its content, as it was sent."""

    version: TemplateVersion
    config: Json
    inputs: Json
    default_values: Json
