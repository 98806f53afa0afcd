"""What can go wrong with organizations, keys, users and tokens."""

from framekiln.kit.errors import Conflict, InvalidInput, NotFound, RateLimited, Unauthenticated


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
