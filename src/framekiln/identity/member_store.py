"""SQL of memberships and invitations. Makes no decisions; the caller owns the transaction."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from framekiln.db.pool import Connection
from framekiln.identity.model import Invitation, InvitationId, Member, Role, User
from framekiln.identity.store import organization_of
from framekiln.kit.ids import OrganizationId, UserId

Row = Mapping[str, Any]

SELECT_MEMBER: Final = """
    SELECT u.id AS user_id, u.email, u.created_at AS user_created_at, m.role,
           m.created_at AS joined_at, o.id, o.name, o.pipelines_enabled, o.created_at
    FROM membership m
    JOIN user_account u ON u.id = m.user_id
    JOIN organization o ON o.id = m.organization_id
"""
SELECT_INVITATION: Final = """
    SELECT i.id AS invitation_id, i.email, i.role, i.invited_by, i.created_at AS invited_at,
           i.expires_at, o.id, o.name, o.pipelines_enabled, o.created_at
    FROM invitation i JOIN organization o ON o.id = i.organization_id
"""


async def insert_membership(
    connection: Connection,
    user_id: UserId,
    organization_id: OrganizationId,
    *,
    role: Role,
    now: datetime,
) -> bool:
    """Add a user to an organization; False if they belong to it already."""
    cursor = await connection.execute(
        """
        INSERT INTO membership (user_id, organization_id, role, created_at)
        VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING
        """,
        [user_id, organization_id, role, now],
    )
    return cursor.rowcount == 1


async def list_all(connection: Connection) -> list[Member]:
    """Return all users with all their organizations, oldest first."""
    cursor = await connection.execute(
        f"{SELECT_MEMBER} ORDER BY u.created_at, u.id, m.created_at, o.id"
    )
    return [_member(row) for row in await cursor.fetchall()]


async def list_members(connection: Connection, organization_id: OrganizationId) -> list[Member]:
    """Return the users of an organization, in the order in which they joined."""
    cursor = await connection.execute(
        f"{SELECT_MEMBER} WHERE m.organization_id = %s ORDER BY m.created_at, u.email",
        [organization_id],
    )
    return [_member(row) for row in await cursor.fetchall()]


async def list_of_user(connection: Connection, user_id: UserId) -> list[Member]:
    """Return the memberships of a user, in the order in which they joined."""
    cursor = await connection.execute(
        f"{SELECT_MEMBER} WHERE m.user_id = %s ORDER BY m.created_at, o.id", [user_id]
    )
    return [_member(row) for row in await cursor.fetchall()]


async def lock_members(connection: Connection, organization_id: OrganizationId) -> None:
    """Serialize changes of who belongs to an organization."""
    await connection.execute(
        "SELECT 1 FROM organization WHERE id = %s FOR UPDATE", [organization_id]
    )


async def set_role(
    connection: Connection, user_id: UserId, organization_id: OrganizationId, role: Role
) -> None:
    """Change the role of a member."""
    await connection.execute(
        "UPDATE membership SET role = %s WHERE user_id = %s AND organization_id = %s",
        [role, user_id, organization_id],
    )


async def delete_membership(
    connection: Connection, user_id: UserId, organization_id: OrganizationId
) -> None:
    """Remove a user from an organization, with their sessions there."""
    await connection.execute(
        "DELETE FROM membership WHERE user_id = %s AND organization_id = %s",
        [user_id, organization_id],
    )


async def put_invitation(connection: Connection, new: Invitation, token_hash: str) -> None:
    """Add an invitation; it replaces the one for the same address."""
    await connection.execute(
        """
        INSERT INTO invitation (id, organization_id, email, role, token_hash, invited_by,
                                created_at, expires_at)
        VALUES (%(id)s, %(organization_id)s, %(email)s, %(role)s, %(token_hash)s, %(invited_by)s,
                %(created_at)s, %(expires_at)s)
        ON CONFLICT (organization_id, email) DO UPDATE
        SET id = excluded.id, role = excluded.role, token_hash = excluded.token_hash,
            invited_by = excluded.invited_by, created_at = excluded.created_at,
            expires_at = excluded.expires_at
        """,
        {**vars(new), "organization_id": new.organization.id, "token_hash": token_hash},
    )


async def list_invitations(
    connection: Connection, organization_id: OrganizationId
) -> list[Invitation]:
    """Return the invitations of an organization, oldest first."""
    cursor = await connection.execute(
        f"{SELECT_INVITATION} WHERE i.organization_id = %s ORDER BY i.created_at, i.id",
        [organization_id],
    )
    return [_invitation(row) for row in await cursor.fetchall()]


async def find_invitation(connection: Connection, token_hash: str) -> Invitation | None:
    """Return the invitation of a link, also an expired one."""
    cursor = await connection.execute(f"{SELECT_INVITATION} WHERE i.token_hash = %s", [token_hash])
    row = await cursor.fetchone()
    return _invitation(row) if row else None


async def take_invitation(connection: Connection, token_hash: str) -> bool:
    """Delete the invitation of a link; False if somebody has taken it before."""
    cursor = await connection.execute("DELETE FROM invitation WHERE token_hash = %s", [token_hash])
    return cursor.rowcount == 1


async def delete_invitation(
    connection: Connection, organization_id: OrganizationId, invitation_id: InvitationId
) -> str | None:
    """Delete an invitation; return the address that it was for, None if there is none."""
    cursor = await connection.execute(
        "DELETE FROM invitation WHERE organization_id = %s AND id = %s RETURNING email",
        [organization_id, invitation_id],
    )
    row = await cursor.fetchone()
    return row["email"] if row else None


def _member(row: Row) -> Member:
    user = User(id=UserId(row["user_id"]), email=row["email"], created_at=row["user_created_at"])
    return Member(user, organization_of(row), Role(row["role"]), row["joined_at"])


def _invitation(row: Row) -> Invitation:
    return Invitation(
        id=InvitationId(row["invitation_id"]),
        organization=organization_of(row),
        email=row["email"],
        role=Role(row["role"]),
        invited_by=row["invited_by"],
        created_at=row["invited_at"],
        expires_at=row["expires_at"],
    )
