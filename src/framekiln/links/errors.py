"""Errors of links."""

from framekiln.kit.errors import Conflict, Gone, InvalidInput, NotFound


class NotLinkable(InvalidInput):
    """The URL is none of ours that serves media."""

    code = "not_linkable"


class TooManyLinks(Conflict):
    """The organization has as many links as it may have."""

    code = "too_many_links"


class LinkNotFound(NotFound):
    """No such link, or it does not lead to this address."""

    code = "link_not_found"


class LinkExpired(Gone):
    """The link has expired."""

    code = "link_expired"


class LinkRevoked(Gone):
    """The link, or the key that it depends on, was revoked."""

    code = "link_revoked"
