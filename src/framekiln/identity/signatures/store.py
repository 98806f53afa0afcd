"""SQL of the secrets that sign tokens. Makes no decisions; the caller owns the transaction."""

from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.identity.signatures.keys import SigningKey

# An arbitrary number, unique among the advisory locks of the database.
FIRST_KEY_LOCK = 0x6B696C6E02


async def lock_first_key(connection: Connection) -> None:
    """Serialize transactions that look for, and create, the first secret."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [FIRST_KEY_LOCK])


async def list_signing_keys(connection: Connection) -> list[SigningKey]:
    """Return all secrets, newest first."""
    cursor = await connection.execute(
        "SELECT id, secret FROM signing_key ORDER BY created_at DESC, id"
    )
    return [SigningKey(row["id"], bytes(row["secret"])) for row in await cursor.fetchall()]


async def insert_signing_key(connection: Connection, key: SigningKey, *, now: datetime) -> None:
    """Add a secret."""
    await connection.execute(
        "INSERT INTO signing_key (id, secret, created_at) VALUES (%s, %s, %s)",
        [key.id, key.secret, now],
    )
