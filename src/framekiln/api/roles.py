"""What each role may do: checked in one place, for every request with a session.

A reviewer may call what is listed here and nothing else, so a new route is closed to reviewers
until somebody adds it. A member may call everything that is not listed for owners. API keys have no
role: they may do what their organization may, except where a route needs a session.
"""

from typing import Final

from fastapi import Request

from framekiln.identity.members import Members
from framekiln.identity.model import Caller, Role
from framekiln.kit.errors import Forbidden

RouteKey = tuple[str, str]

REVIEWER_ROUTES: Final[frozenset[RouteKey]] = frozenset(
    {
        ("GET", "/session"),
        ("POST", "/session/organization"),
        ("GET", "/api/v1/activity"),
        ("GET", "/api/v1/pipeline-reviews"),
        ("GET", "/api/v1/pipeline-reviews/{review_id}"),
        ("GET", "/api/v1/pipeline-reviews/{review_id}/inputs"),
        ("POST", "/api/v1/pipeline-reviews/{review_id}/approve"),
        ("POST", "/api/v1/pipeline-reviews/{review_id}/reject"),
    }
)
"""Besides these, the media of files with an open review task."""

OWNER_ROUTES: Final[frozenset[RouteKey]] = frozenset(
    {
        ("GET", "/api/v1/members"),
        ("PATCH", "/api/v1/members/{user_id}"),
        ("DELETE", "/api/v1/members/{user_id}"),
        ("GET", "/api/v1/invitations"),
        ("POST", "/api/v1/invitations"),
        ("DELETE", "/api/v1/invitations/{invitation_id}"),
        ("GET", "/api/v1/audit"),
    }
)
_NAMED_OWNERS: Final = 3


class RoleTooLow(Forbidden):
    """The role of the user does not allow this; `role` is one that does."""

    code = "role_too_low"


async def require_role(request: Request, caller: Caller, members: Members) -> None:
    """Raise `RoleTooLow` unless the role of the caller allows this request."""
    if caller.role is None or caller.role is Role.OWNER:
        return
    route = request.scope.get("route")
    method = "GET" if request.method == "HEAD" else request.method
    key = (method, getattr(route, "path", ""))
    if key in OWNER_ROUTES:
        raise await role_too_low(caller, Role.OWNER, members)
    if caller.role is Role.REVIEWER and key not in REVIEWER_ROUTES:
        raise await role_too_low(caller, Role.MEMBER, members)


async def role_too_low(caller: Caller, needed: Role, members: Members) -> RoleTooLow:
    """Return the refusal, with the role that is needed and who can give it."""
    organization = caller.organization
    owners = (await members.owners(organization.id))[:_NAMED_OWNERS]
    if owners:
        advice = f"an owner can change that: {', '.join(owners)}"
    else:
        advice = "the operator can change that: framekiln users role"
    return RoleTooLow(
        f"this needs the role {needed} in {organization.name}, and yours is {caller.role}:"
        f" {advice}",
        role=str(needed),
    )
