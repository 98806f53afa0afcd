"""SQL of users, memberships, sessions, login codes and attempts. Makes no decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from framekiln.db.pool import Connection
from framekiln.identity.model import Organization, Role, User
from framekiln.identity.store import organization_of
from framekiln.identity.throttle import LoginAttempts
from framekiln.kit.ids import OrganizationId, UserId

Row = Mapping[str, Any]

# An arbitrary number, unique among the advisory locks of the database.
FIRST_USER_LOCK = 0x6B696C6E03
MAX_COUNTED_ATTEMPTS = 1_000_000


@dataclass(frozen=True)
class StoredUser:
    """A stored user."""

    user: User
    password_hash: str = field(repr=False)


@dataclass(frozen=True)
class StoredSession:
    """A stored session with its user."""

    user: User
    organization: Organization
    role: Role
    expires_at: datetime


async def lock_first_user(connection: Connection) -> None:
    """Serialize transactions that look for, and create, the first user."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [FIRST_USER_LOCK])


async def has_users(connection: Connection) -> bool:
    """Whether there is any user."""
    cursor = await connection.execute("SELECT 1 FROM user_account LIMIT 1")
    return await cursor.fetchone() is not None


async def insert_user(connection: Connection, user: User, password_hash: str) -> bool:
    """Add a user; False if the e-mail address is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO user_account (id, email, password_hash, created_at)
        VALUES (%(id)s, %(email)s, %(password_hash)s, %(created_at)s)
        ON CONFLICT (email) DO NOTHING
        """,
        {**vars(user), "password_hash": password_hash},
    )
    return cursor.rowcount == 1


async def find_user(connection: Connection, email: str) -> StoredUser | None:
    """Return the user with this address."""
    cursor = await connection.execute(
        "SELECT id AS user_id, email, created_at AS user_created_at, password_hash"
        " FROM user_account WHERE email = %s",
        [email],
    )
    row = await cursor.fetchone()
    return StoredUser(_user(row), row["password_hash"]) if row else None


async def set_password(connection: Connection, user_id: UserId, password_hash: str) -> None:
    """Replace a user's password and end all their sessions and login links."""
    await connection.execute(
        "UPDATE user_account SET password_hash = %s WHERE id = %s", [password_hash, user_id]
    )
    await connection.execute("DELETE FROM login_session WHERE user_id = %s", [user_id])
    await connection.execute("DELETE FROM login_code WHERE user_id = %s", [user_id])


async def delete_user(connection: Connection, email: str) -> User | None:
    """Delete a user with memberships and sessions; None if there is no such user."""
    cursor = await connection.execute(
        """
        DELETE FROM user_account WHERE email = %s
        RETURNING id AS user_id, email, created_at AS user_created_at
        """,
        [email],
    )
    row = await cursor.fetchone()
    return _user(row) if row else None


async def insert_session(
    connection: Connection,
    found: StoredUser,
    *,
    organization_id: OrganizationId,
    token_hash: str,
    now: datetime,
    expires_at: datetime,
) -> bool:
    """Start a session; False if the password was changed since it was checked.

    The lock on the user makes sure that a concurrent change of the password, which ends all
    sessions, sees this one.
    """
    cursor = await connection.execute(
        """
        WITH holder AS (
            SELECT id FROM user_account WHERE id = %(user_id)s AND password_hash = %(hash)s
            FOR SHARE
        )
        INSERT INTO login_session (token_hash, user_id, organization_id, created_at, expires_at)
        SELECT %(token_hash)s, id, %(organization_id)s, %(now)s, %(expires_at)s FROM holder
        """,
        {
            "user_id": found.user.id,
            "hash": found.password_hash,
            "token_hash": token_hash,
            "organization_id": organization_id,
            "now": now,
            "expires_at": expires_at,
        },
    )
    return cursor.rowcount == 1


async def insert_login_code(
    connection: Connection, user_id: UserId, *, code_hash: str, expires_at: datetime
) -> None:
    """Add a code that logs a user in once."""
    await connection.execute(
        "INSERT INTO login_code (code_hash, user_id, expires_at) VALUES (%s, %s, %s)",
        [code_hash, user_id, expires_at],
    )


async def take_login_code(
    connection: Connection, code_hash: str, *, now: datetime
) -> StoredUser | None:
    """Delete a code and return its user; None if it was used, has expired or never existed."""
    cursor = await connection.execute(
        """
        WITH taken AS (DELETE FROM login_code WHERE code_hash = %s RETURNING user_id, expires_at)
        SELECT u.id AS user_id, email, created_at AS user_created_at, password_hash
        FROM taken JOIN user_account u ON u.id = taken.user_id
        WHERE expires_at > %s
        """,
        [code_hash, now],
    )
    row = await cursor.fetchone()
    return StoredUser(_user(row), row["password_hash"]) if row else None


async def find_session(
    connection: Connection, token_hash: str, *, now: datetime
) -> StoredSession | None:
    """Return a session that has not expired."""
    cursor = await connection.execute(
        """
        SELECT u.id AS user_id, u.email, u.created_at AS user_created_at, s.expires_at,
               o.id, o.name, o.pipelines_enabled, o.created_at, m.role
        FROM login_session s
        JOIN user_account u ON u.id = s.user_id
        JOIN organization o ON o.id = s.organization_id
        JOIN membership m ON m.user_id = s.user_id AND m.organization_id = s.organization_id
        WHERE s.token_hash = %s AND s.expires_at > %s
        """,
        [token_hash, now],
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return StoredSession(_user(row), organization_of(row), Role(row["role"]), row["expires_at"])


async def move_session(
    connection: Connection, token_hash: str, organization_id: OrganizationId
) -> None:
    """Let a session continue in another organization of its user."""
    await connection.execute(
        "UPDATE login_session SET organization_id = %s WHERE token_hash = %s",
        [organization_id, token_hash],
    )


async def extend_session(connection: Connection, token_hash: str, *, expires_at: datetime) -> None:
    """Extend a session; never shortens it."""
    await connection.execute(
        """
        UPDATE login_session SET expires_at = %(expires_at)s
        WHERE token_hash = %(token_hash)s AND expires_at < %(expires_at)s
        """,
        {"token_hash": token_hash, "expires_at": expires_at},
    )


async def delete_session(connection: Connection, token_hash: str) -> None:
    """End a session, if there is one."""
    await connection.execute("DELETE FROM login_session WHERE token_hash = %s", [token_hash])


async def lock_login_attempts(
    connection: Connection, email: str, source: str, *, now: datetime
) -> LoginAttempts:
    """Return the count of a source for an address, locked until the transaction ends."""
    cursor = await connection.execute(
        """
        INSERT INTO login_attempt (email, source, attempts, last_at)
        VALUES (%(email)s, %(source)s, 0, %(now)s)
        ON CONFLICT (email, source) DO UPDATE SET attempts = login_attempt.attempts
        RETURNING attempts, last_at
        """,
        {"email": email, "source": source, "now": now},
    )
    row = await cursor.fetchone()
    assert row is not None
    return LoginAttempts(row["attempts"], row["last_at"])


async def set_login_attempts(
    connection: Connection, email: str, source: str, attempts: LoginAttempts
) -> None:
    """Replace the count of a source for an address."""
    await connection.execute(
        "UPDATE login_attempt SET attempts = %s, last_at = %s WHERE email = %s AND source = %s",
        [min(attempts.count, MAX_COUNTED_ATTEMPTS), attempts.last_at, email, source],
    )


async def count_login_attempts(
    connection: Connection, email: str, source: str, *, after: datetime
) -> int:
    """Return the sum of the counts of an address or of a source, whichever is larger."""
    cursor = await connection.execute(
        """
        SELECT greatest(
            sum(attempts) FILTER (WHERE email = %(email)s),
            sum(attempts) FILTER (WHERE source = %(source)s)
        ) AS attempts
        FROM login_attempt
        WHERE (email = %(email)s OR source = %(source)s) AND last_at > %(after)s
        """,
        {"email": email, "source": source, "after": after},
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["attempts"] or 0)


async def reset_login_attempts(
    connection: Connection, email: str, source: str | None = None
) -> None:
    """Reset the count of a source for an address, or of all sources."""
    await connection.execute(
        """
        DELETE FROM login_attempt
        WHERE email = %(email)s AND (%(source)s::text IS NULL OR source = %(source)s)
        """,
        {"email": email, "source": source},
    )


async def delete_expired(connection: Connection, *, now: datetime, window: timedelta) -> int:
    """Delete expired sessions and old counts; return the number of sessions."""
    cursor = await connection.execute("DELETE FROM login_session WHERE expires_at <= %s", [now])
    await connection.execute("DELETE FROM login_attempt WHERE last_at <= %s", [now - window])
    await connection.execute("DELETE FROM login_code WHERE expires_at <= %s", [now])
    await connection.execute("DELETE FROM invitation WHERE expires_at <= %s", [now - window])
    return cursor.rowcount


def _user(row: Row) -> User:
    return User(id=UserId(row["user_id"]), email=row["email"], created_at=row["user_created_at"])
