"""The people of an organization: list them, change their roles, remove them."""

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.identity import member_store
from framekiln.identity.errors import LastOwner, MemberNotFound
from framekiln.identity.model import Member, Role
from framekiln.identity.sessions import Sessions
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, UserId


class Members:
    """The members of all organizations."""

    def __init__(self, database: Database, *, sessions: Sessions, clock: Clock) -> None:
        self._database = database
        self._sessions = sessions
        self._clock = clock

    async def list_all(self, organization_id: OrganizationId) -> list[Member]:
        """Return the members of an organization, in the order in which they joined."""
        async with self._database.connection() as connection:
            return await member_store.list_members(connection, organization_id)

    async def owners(self, organization_id: OrganizationId) -> list[str]:
        """Return the e-mail addresses of the owners of an organization."""
        members = await self.list_all(organization_id)
        return [each.user.email for each in members if each.role is Role.OWNER]

    async def set_role(
        self, organization_id: OrganizationId, user_id: UserId, role: Role
    ) -> Member:
        """Change the role of a member; the last owner stays one."""
        async with self._database.transaction() as connection:
            member = await self._locked(connection, organization_id, user_id, becomes=role)
            if member.role is not role:
                await member_store.set_role(connection, user_id, organization_id, role)
                await record(
                    connection,
                    organization_id,
                    "member.role_changed",
                    resource=user_id,
                    now=self._clock.now(),
                    email=member.user.email,
                    before=member.role,
                    role=role,
                )
        self._sessions.forget_recent()
        return Member(member.user, member.organization, role, member.joined_at)

    async def remove(self, organization_id: OrganizationId, user_id: UserId) -> None:
        """Remove a member and end their sessions there; the last owner stays."""
        async with self._database.transaction() as connection:
            member = await self._locked(connection, organization_id, user_id, becomes=None)
            await member_store.delete_membership(connection, user_id, organization_id)
            await record(
                connection,
                organization_id,
                "member.removed",
                resource=user_id,
                now=self._clock.now(),
                email=member.user.email,
            )
        self._sessions.forget_recent()

    async def _locked(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        user_id: UserId,
        *,
        becomes: Role | None,
    ) -> Member:
        """Return a member whom nobody else changes; raise if no owner would be left."""
        await member_store.lock_members(connection, organization_id)
        members = await member_store.list_members(connection, organization_id)
        found = next((each for each in members if each.user.id == user_id), None)
        if found is None:
            raise MemberNotFound(f"nobody in this organization has the id {user_id}")
        others = any(each.role is Role.OWNER for each in members if each is not found)
        if found.role is Role.OWNER and becomes is not Role.OWNER and not others:
            raise LastOwner(
                f"{found.user.email} is the last owner: make somebody else an owner first",
                field="role",
            )
        return found
