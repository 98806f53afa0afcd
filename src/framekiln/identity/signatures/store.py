"""SQL of the secrets that sign tokens. Decides nothing; the caller owns the transaction."""

from datetime import datetime

from framekiln.db.pool import Connection
from framekiln.identity.signatures.keys import SigningKey

# Any number will do, as long as nothing else in the database takes the same one.
FIRST_KEY_LOCK = 0x6B696C6E02


async def lock_first_key(connection: Connection) -> None:
    """Let one transaction at a time look for, and make, the first secret."""
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", [FIRST_KEY_LOCK])


async def list_signing_keys(connection: Connection) -> list[SigningKey]:
    """Return all, newest first."""
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
