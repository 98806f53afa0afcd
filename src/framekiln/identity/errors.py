"""Errors of organizations, keys, users and tokens."""

from framekiln.kit.errors import (
    Conflict,
    Gone,
    InvalidInput,
    NotFound,
    RateLimited,
    Unauthenticated,
)


class KeyMissing(Unauthenticated):
    """The request has no key."""


class KeyMalformed(Unauthenticated):
    """The text does not have the format of a key."""


class KeyUnknown(Unauthenticated):
    """The key has the right format, but does not exist."""


class KeyRevoked(Unauthenticated):
    """The key was revoked."""


class SessionMissing(Unauthenticated):
    """The request has no session, but the route needs one."""


class ReviewLinkMissing(Unauthenticated):
    """No review link was opened in the browser."""


class SessionEnded(Unauthenticated):
    """The session was logged out, has expired, or does not exist."""


class TokenInvalid(Unauthenticated):
    """The token is invalid: malformed, modified, of another kind, or signed by another service."""


class TokenExpired(Unauthenticated):
    """The token has expired."""


class TokenScopeMismatch(Unauthenticated):
    """The token is valid, but for something else."""


class LoginFailed(Unauthenticated):
    """No user has this e-mail address and password; the error does not say which is wrong."""

    code = "login_failed"


class SessionExists(Conflict):
    """Somebody else is logged in; `is_same_organization` says whether they may do it, too."""

    code = "session_exists"


class TooManyKeys(Conflict):
    """The organization has as many valid keys as it may have."""

    code = "too_many_keys"


class TooManyAttempts(RateLimited):
    """Too many logins have failed from here; the right password has to wait, too."""

    code = "too_many_attempts"


class UnsignableUrl(InvalidInput):
    """A URL that no token can be made for, because it is ambiguous."""

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
    """The text is not an e-mail address."""

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


class KeyNotValid(Conflict):
    """A revoked key gets no new secret."""

    code = "api_key_revoked"


class MemberNotFound(NotFound):
    """No user of the organization has this id."""

    code = "member_not_found"


class AlreadyMember(Conflict):
    """The invited person belongs to the organization already."""

    code = "already_member"


class LastOwner(Conflict):
    """An organization must keep an owner."""

    code = "last_owner"


class InvitationNotFound(NotFound):
    """No invitation has this id or link: it was used, revoked, or never existed."""

    code = "invitation_not_found"


class InvitationExpired(Gone):
    """The link of the invitation has expired."""

    code = "invitation_expired"


class TooManyInvitations(Conflict):
    """The organization has as many open invitations as allowed."""

    code = "too_many_invitations"
