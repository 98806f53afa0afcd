"""/api/v1/members and /api/v1/invitations: who belongs to the organization, for its owners.

Only with a session: a key that somebody has found must not be able to let people in.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from framekiln.api.auth import SessionCaller, services_of
from framekiln.api.bodies import SuccessAnswer, json_body, read_json
from framekiln.api.unknown_fields import RequestBody, WarningRoute
from framekiln.identity.errors import InvitationNotFound, MemberNotFound
from framekiln.identity.invitations import DEFAULT_LIFETIME, MAX_LIFETIME, invitation_url
from framekiln.identity.model import Invitation, InvitationId, Member, Role
from framekiln.kit.ids import UserId, parse_uuid

router = APIRouter(prefix="/api/v1", tags=["organization"], route_class=WarningRoute)

MAX_BODY_BYTES: Final = 16 << 10
MAX_EMAIL_CHARS: Final = 254


class MemberInfo(BaseModel):
    """A person of the organization."""

    user_id: UUID
    email: str
    role: Role
    joined_at: datetime

    @classmethod
    def of(cls, member: Member) -> "MemberInfo":
        """Describe a member."""
        return cls(
            user_id=member.user.id,
            email=member.user.email,
            role=member.role,
            joined_at=member.joined_at,
        )


class MemberList(BaseModel):
    """The people of the organization."""

    members: list[MemberInfo]


class ChangeMember(RequestBody):
    """The new role of a member."""

    role: Role


class CreateInvitation(RequestBody):
    """Whom to invite, and as what."""

    email: str = Field(min_length=1, max_length=MAX_EMAIL_CHARS)
    role: Role = Role.MEMBER
    expires_in_s: int = Field(
        default=int(DEFAULT_LIFETIME.total_seconds()),
        ge=60,
        le=int(MAX_LIFETIME.total_seconds()),
        description="Seconds until the link expires.",
    )


class InvitationInfo(BaseModel):
    """An open invitation."""

    id: UUID
    email: str
    role: Role
    invited_by: str | None = Field(description="null for the operator.")
    created_at: datetime
    expires_at: datetime

    @classmethod
    def of(cls, invitation: Invitation) -> "InvitationInfo":
        """Describe an invitation."""
        return cls(
            id=invitation.id,
            email=invitation.email,
            role=invitation.role,
            invited_by=invitation.invited_by,
            created_at=invitation.created_at,
            expires_at=invitation.expires_at,
        )


class CreatedInvitation(InvitationInfo):
    """A new invitation with its link."""

    url: str = Field(description="The link to pass on; it works once and is not shown again.")


class InvitationList(BaseModel):
    """The open invitations of the organization."""

    invitations: list[InvitationInfo]


@router.get("/members", summary="List the people of the organization")
async def list_members(request: Request, caller: SessionCaller) -> MemberList:
    """Return all members, in the order in which they joined."""
    found = await services_of(request).members.list_all(caller.organization.id)
    return MemberList(members=[MemberInfo.of(each) for each in found])


@router.patch("/members/{user_id}", openapi_extra=json_body(ChangeMember), summary="Change a role")
async def change_member(request: Request, caller: SessionCaller, user_id: str) -> MemberInfo:
    """Change the role of a member; the last owner stays one."""
    body = await read_json(request, ChangeMember, max_bytes=MAX_BODY_BYTES)
    return MemberInfo.of(
        await services_of(request).members.set_role(
            caller.organization.id, _user_id(user_id), body.role
        )
    )


@router.delete("/members/{user_id}", summary="Remove somebody from the organization")
async def remove_member(request: Request, caller: SessionCaller, user_id: str) -> SuccessAnswer:
    """Remove a member and end their sessions; keys that they have made keep working."""
    await services_of(request).members.remove(caller.organization.id, _user_id(user_id))
    return SuccessAnswer(success=True)


@router.get("/invitations", summary="List open invitations")
async def list_invitations(request: Request, caller: SessionCaller) -> InvitationList:
    """Return all invitations that were not accepted yet, oldest first."""
    found = await services_of(request).invitations.list_all(caller.organization.id)
    return InvitationList(invitations=[InvitationInfo.of(each) for each in found])


@router.post(
    "/invitations",
    status_code=201,
    openapi_extra=json_body(CreateInvitation),
    summary="Invite somebody",
)
async def create_invitation(
    request: Request, response: Response, caller: SessionCaller
) -> CreatedInvitation:
    """Make a link with which somebody joins; nothing is sent, so copy it and pass it on."""
    services = services_of(request)
    body = await read_json(request, CreateInvitation, max_bytes=MAX_BODY_BYTES)
    assert caller.user is not None
    issued = await services.invitations.create(
        caller.organization.id,
        body.email,
        body.role,
        lifetime=timedelta(seconds=body.expires_in_s),
        invited_by=caller.user.email,
    )
    response.headers["Cache-Control"] = "no-store"
    info = InvitationInfo.of(issued.invitation)
    return CreatedInvitation(
        **info.model_dump(), url=invitation_url(services.settings.public_url, issued.token)
    )


@router.delete("/invitations/{invitation_id}", summary="Revoke an invitation")
async def revoke_invitation(
    request: Request, caller: SessionCaller, invitation_id: str
) -> SuccessAnswer:
    """End an invitation: its link stops working."""
    found = parse_uuid(invitation_id)
    if found is None:
        raise InvitationNotFound("there is no such invitation: its id must be a UUID")
    await services_of(request).invitations.revoke(caller.organization.id, InvitationId(found))
    return SuccessAnswer(success=True)


def _user_id(text: str) -> UserId:
    found = parse_uuid(text)
    if found is None:
        raise MemberNotFound("nobody in this organization has this id: it must be a UUID")
    return UserId(found)
