"""A template as it is stored, and as it is asked for."""

from dataclasses import dataclass
from datetime import datetime

from framekiln.kit.errors import NotFound
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.videos.model import Json
from framekiln.videos.public_ids import TemplateId


@dataclass(frozen=True)
class NewTemplate:
    """What a caller sends; nothing of it has been checked but the name."""

    name: str
    config: object
    inputs: object
    default_values: object


@dataclass(frozen=True)
class StoredTemplate:
    """One template; config, inputs and default values are as they came."""

    id: TemplateId
    organization_id: OrganizationId
    api_key_id: ApiKeyId | None
    name: str
    config: Json
    inputs: Json
    default_values: Json
    created_at: datetime


class TemplateNotFound(NotFound):
    """No such template in this organization."""

    code = "template_not_found"
