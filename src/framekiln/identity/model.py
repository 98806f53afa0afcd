"""Organizations, their API keys, users and callers."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

from framekiln.kit.ids import ApiKeyId, OrganizationId, UserId

MAX_NAME_CHARS = 200

InvitationId = NewType("InvitationId", UUID)


class Role(StrEnum):
    """The role of a user in an organization; `api/roles` says what each may do."""

    OWNER = "owner"
    MEMBER = "member"
    REVIEWER = "reviewer"


@dataclass(frozen=True)
class Organization:
    """The owner of all resources; organizations cannot see each other."""

    id: OrganizationId
    name: str
    pipelines_enabled: bool
    created_at: datetime


@dataclass(frozen=True)
class ApiKey:
    """The stored facts of a key, without its text."""

    id: ApiKeyId
    organization_id: OrganizationId
    name: str
    key_id: str
    created_at: datetime
    last_used_at: datetime | None
    """Coarse: updated at most once a minute."""
    revoked_at: datetime | None
    user_id: UserId | None = None
    made_by: str | None = None
    """The e-mail address of the user who made it; None for keys of the command line."""
    previous_until: datetime | None = None
    """How long the secret before the last rotation works."""


@dataclass(frozen=True)
class User:
    """A person who logs in with a password."""

    id: UserId
    email: str
    created_at: datetime


@dataclass(frozen=True)
class Member:
    """A user in an organization."""

    user: User
    organization: Organization
    role: Role
    joined_at: datetime


@dataclass(frozen=True)
class Invitation:
    """An invitation to join an organization, without the text of its link."""

    id: InvitationId
    organization: Organization
    email: str
    role: Role
    invited_by: str | None
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class Caller:
    """The authenticated caller: a program with a key, or a user with a session."""

    organization: Organization
    api_key: ApiKey | None = None
    user: User | None = None
    role: Role | None = None
    """Of a user; a key may do what the organization may."""

    @property
    def api_key_id(self) -> ApiKeyId | None:
        """The key that owns newly created resources; None for users."""
        return self.api_key.id if self.api_key else None

    @property
    def user_id(self) -> UserId | None:
        """The user; None for programs."""
        return self.user.id if self.user else None


@dataclass(frozen=True)
class IssuedKey:
    """A new key with its text, which can only be shown once."""

    text: str = field(repr=False)
    key: ApiKey


@dataclass(frozen=True)
class IssuedInvitation:
    """A new invitation with the text of its link, which can only be shown once."""

    token: str = field(repr=False)
    invitation: Invitation


@dataclass(frozen=True)
class IssuedUser:
    """A user with a new password, which can only be shown once."""

    user: User
    password: str = field(repr=False)


@dataclass(frozen=True)
class IssuedSession:
    """A new session with the texts of its cookies."""

    text: str = field(repr=False)
    caller: Caller
    device: str = field(repr=False)
    """Shows at the next login that this browser is known."""
