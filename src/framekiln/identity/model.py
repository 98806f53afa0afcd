"""Organizations, their API keys and users, and what can be wrong with what proves who they are."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from framekiln.kit.errors import Conflict, InvalidInput, NotFound, RateLimited, Unauthenticated
from framekiln.kit.ids import ApiKeyId, OrganizationId, UserId

MAX_NAME_CHARS = 200


class Role(StrEnum):
    """What a user is in an organization; both may do the same so far."""

    OWNER = "owner"
    MEMBER = "member"


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
class User:
    """Somebody who logs in with a password."""

    id: UserId
    email: str
    created_at: datetime


@dataclass(frozen=True)
class Member:
    """A user in an organization."""

    user: User
    organization: Organization
    role: Role


@dataclass(frozen=True)
class Caller:
    """Who is asking: a program with a key, or a user with a session."""

    organization: Organization
    api_key: ApiKey | None = None
    user: User | None = None

    @property
    def api_key_id(self) -> ApiKeyId | None:
        """The key that what is made now belongs to; users have none."""
        return self.api_key.id if self.api_key else None


@dataclass(frozen=True)
class IssuedKey:
    """A new key with its text, which can be shown this once only."""

    text: str = field(repr=False)
    key: ApiKey


@dataclass(frozen=True)
class IssuedUser:
    """A user with a new password, which can be shown this once only."""

    user: User
    password: str = field(repr=False)


@dataclass(frozen=True)
class IssuedSession:
    """A new session with the text of its cookie."""

    text: str = field(repr=False)
    caller: Caller


class KeyMissing(Unauthenticated):
    """The request names no key."""


class KeyMalformed(Unauthenticated):
    """What was sent does not have the shape of a key."""


class KeyUnknown(Unauthenticated):
    """The key has the right shape, but was never issued."""


class KeyRevoked(Unauthenticated):
    """The key worked once and was revoked."""


class SessionMissing(Unauthenticated):
    """Nobody is logged in, where only a user may ask."""


class SessionEnded(Unauthenticated):
    """The session was logged out, has expired, or never was."""


class TokenInvalid(Unauthenticated):
    """No token of ours: malformed, tampered with, of another kind, or signed elsewhere."""


class TokenExpired(Unauthenticated):
    """The token was right, and its time is over."""


class TokenElsewhere(Unauthenticated):
    """The token is right, but opens something else than what was asked for."""


class LoginFailed(Unauthenticated):
    """No user has this e-mail address and password; which of them is wrong is not told."""

    code = "login_failed"


class TooManyAttempts(RateLimited):
    """This e-mail address was tried too often; the right password is refused as well."""

    code = "too_many_attempts"


class UnsignableUrl(InvalidInput):
    """An address that no token can be made for, because it may be read in two ways."""

    code = "unsignable_url"


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


class InvalidEmail(InvalidInput):
    """Not an e-mail address."""

    code = "invalid_email"


class InvalidPassword(InvalidInput):
    """A password that is too short, too long, or not plain text."""

    code = "invalid_password"


class EmailTaken(Conflict):
    """Another user has this e-mail address."""

    code = "email_taken"


class UserNotFound(NotFound):
    """No user has this e-mail address."""

    code = "user_not_found"
