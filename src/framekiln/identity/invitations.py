"""Invitations: an owner makes a link and passes it on; whoever opens it joins once.

Only the hash of the link is stored. An invitation is for one e-mail address. If nobody has that
address, the link sets the password of a new user; else the user must know theirs, because a link
must not open an account that exists.
"""

import secrets
from datetime import timedelta
from typing import Final

from framekiln.audit.actor import name_actor
from framekiln.audit.log import record
from framekiln.audit.model import ActorType
from framekiln.db.pool import Connection, Database
from framekiln.identity import member_store, user_store
from framekiln.identity.errors import (
    AlreadyMember,
    EmailTaken,
    InvitationExpired,
    InvitationNotFound,
    OrganizationNotFound,
    TooManyInvitations,
)
from framekiln.identity.keys import hash_key
from framekiln.identity.model import (
    Invitation,
    InvitationId,
    IssuedInvitation,
    IssuedSession,
    Role,
    User,
)
from framekiln.identity.passwords import Passwords
from framekiln.identity.sessions import Sessions
from framekiln.identity.store import find_organization
from framekiln.identity.users import join_organization, require_email
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, UserId, new_uuid

DEFAULT_LIFETIME: Final = timedelta(days=7)
MAX_LIFETIME: Final = timedelta(days=30)
MAX_INVITATIONS: Final = 500
_TOKEN_BYTES: Final = 32


class Invitations:
    """The open invitations of all organizations."""

    def __init__(
        self, database: Database, *, sessions: Sessions, passwords: Passwords, clock: Clock
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._passwords = passwords
        self._clock = clock

    async def create(
        self,
        organization_id: OrganizationId,
        email: str,
        role: Role,
        *,
        lifetime: timedelta = DEFAULT_LIFETIME,
        invited_by: str | None = None,
    ) -> IssuedInvitation:
        """Invite somebody; an earlier invitation for the same address stops working."""
        address, token, now = (
            require_email(email),
            secrets.token_urlsafe(_TOKEN_BYTES),
            self._clock.now(),
        )
        async with self._database.transaction() as connection:
            organization = await find_organization(connection, organization_id)
            if organization is None:
                raise OrganizationNotFound(f"there is no organization {organization_id}")
            await self._check_new(connection, organization_id, address)
            new = Invitation(
                id=InvitationId(new_uuid()),
                organization=organization,
                email=address,
                role=role,
                invited_by=invited_by,
                created_at=now,
                expires_at=now + lifetime,
            )
            await member_store.put_invitation(connection, new, hash_key(token))
            await record(
                connection,
                organization_id,
                "member.invited",
                resource=new.id,
                now=now,
                email=address,
                role=role,
            )
        return IssuedInvitation(token, new)

    async def list_all(self, organization_id: OrganizationId) -> list[Invitation]:
        """Return the open invitations of an organization, oldest first."""
        async with self._database.connection() as connection:
            found = await member_store.list_invitations(connection, organization_id)
        now = self._clock.now()
        return [each for each in found if each.expires_at > now]

    async def revoke(self, organization_id: OrganizationId, invitation_id: InvitationId) -> None:
        """End an invitation; its link stops working."""
        async with self._database.transaction() as connection:
            email = await member_store.delete_invitation(connection, organization_id, invitation_id)
            if email is None:
                raise InvitationNotFound(f"there is no invitation {invitation_id}")
            await record(
                connection,
                organization_id,
                "member.invitation_revoked",
                resource=invitation_id,
                now=self._clock.now(),
                email=email,
            )

    async def open(self, token: str) -> tuple[Invitation, bool]:
        """Return the invitation of a link, and whether its address has a user already."""
        async with self._database.connection() as connection:
            found = await member_store.find_invitation(connection, hash_key(token))
            if found is None:
                raise _used()
            if found.expires_at <= self._clock.now():
                raise InvitationExpired("this invitation has expired")
            user = await user_store.find_user(connection, found.email)
        return found, user is not None

    async def accept(
        self, token: str, password: str, *, client: str | None, device: str | None
    ) -> IssuedSession:
        """Join with the password of a user, or with that of a new one; return their session."""
        invitation, has_user = await self.open(token)
        if has_user:
            stored, _ = await self._sessions.check_password(
                invitation.email, password, client=client, device=device
            )
        else:
            stored = await self._new_user(invitation.email, password)
        async with self._database.transaction() as connection:
            if not await member_store.take_invitation(connection, hash_key(token)):
                raise _used()
            if not has_user and not await user_store.insert_user(
                connection, stored.user, stored.password_hash
            ):
                raise EmailTaken(f"{invitation.email} has an account by now: open the link again")
            name_actor(ActorType.USER, str(stored.user.id), stored.user.email)
            await join_organization(
                connection,
                stored.user,
                invitation.organization.id,
                invitation.role,
                now=self._clock.now(),
                invited_by=invitation.invited_by,
            )
        return await self._sessions.begin(
            stored, method="invitation", organization_id=invitation.organization.id
        )

    async def _check_new(
        self, connection: Connection, organization_id: OrganizationId, email: str
    ) -> None:
        await member_store.lock_members(connection, organization_id)
        members = await member_store.list_members(connection, organization_id)
        if any(each.user.email == email for each in members):
            raise AlreadyMember(
                f"{email} belongs to this organization already: change the role instead",
                field="email",
            )
        if len(await member_store.list_invitations(connection, organization_id)) >= MAX_INVITATIONS:
            raise TooManyInvitations(
                f"there are {MAX_INVITATIONS} open invitations: revoke some first"
            )

    async def _new_user(self, email: str, password: str) -> user_store.StoredUser:
        user = User(id=UserId(new_uuid()), email=email, created_at=self._clock.now())
        return user_store.StoredUser(user, await self._passwords.hash(password))


def invitation_url(public_url: str, token: str) -> str:
    """Return the address of an invitation; browsers do not send the part behind `#`."""
    return f"{public_url}/studio/invitation#invitation={token}"


def _used() -> InvitationNotFound:
    return InvitationNotFound("this invitation was used, revoked, or not copied whole")
