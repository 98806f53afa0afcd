"""Organizations, their API keys, and what can be wrong with a key."""

from dataclasses import dataclass, field
from datetime import datetime

from framekiln.kit.errors import Conflict, InvalidInput, NotFound, Unauthenticated
from framekiln.kit.ids import ApiKeyId, OrganizationId

MAX_NAME_CHARS = 200


@dataclass(frozen=True)
class Organization:
    """The owner of everything; nothing is seen across two of them."""

    id: OrganizationId
    name: str
    pipelines_enabled: bool
    created_at: datetime


@dataclass(frozen=True)
class ApiKey:
    """What is kept of a key and may be shown; the text itself is not here."""

    id: ApiKeyId
    organization_id: OrganizationId
    name: str
    key_id: str
    created_at: datetime
    last_used_at: datetime | None
    """Coarse: moves at most once a minute."""
    revoked_at: datetime | None


@dataclass(frozen=True)
class Caller:
    """Who is asking."""

    organization: Organization
    api_key: ApiKey

    @property
    def api_key_id(self) -> ApiKeyId:
        """The key that what is made now belongs to."""
        return self.api_key.id


@dataclass(frozen=True)
class IssuedKey:
    """A new key with its text, which can be shown this once only."""

    text: str = field(repr=False)
    key: ApiKey


class KeyMissing(Unauthenticated):
    """The request names no key."""


class KeyMalformed(Unauthenticated):
    """What was sent does not have the shape of a key."""


class KeyUnknown(Unauthenticated):
    """The key has the right shape, but was never issued."""


class KeyRevoked(Unauthenticated):
    """The key worked once and was revoked."""


class InvalidName(InvalidInput):
    """A name that is empty, too long, or not plain text."""

    code = "invalid_name"


class InvalidKeyText(InvalidInput):
    """A key given by the operator that no client would accept."""

    code = "invalid_api_key"


class OrganizationNotFound(NotFound):
    """No organization has this id."""

    code = "organization_not_found"


class OrganizationNameTaken(Conflict):
    """Another organization has this name."""

    code = "organization_name_taken"


class KeyNotFound(NotFound):
    """No key has this key id."""

    code = "api_key_not_found"


class KeyIdTaken(Conflict):
    """Another organization's key has this key id."""

    code = "api_key_id_taken"
