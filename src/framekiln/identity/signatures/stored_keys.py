"""The signing secret in the database, which all processes share without a setting.

It is created at first use and cached. A token with an unknown key id causes another read, but at
most every few seconds, because anyone can invent ids.
"""

import asyncio
from datetime import datetime, timedelta

from framekiln.db.pool import Database
from framekiln.identity.signatures import store
from framekiln.identity.signatures.keys import SigningKey, make_signing_key
from framekiln.kit.clock import Clock

RELOAD_AFTER = timedelta(seconds=5)


class StoredSigningKeys:
    """The secrets in the database; the newest signs."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known: list[SigningKey] = []
        self._looked_at: datetime | None = None
        self._looking = asyncio.Lock()

    async def current(self) -> SigningKey:
        """Return the newest; created now if there is none yet."""
        if not self._known:
            async with self._looking:
                self._known = self._known or await self._read_or_make()
        return self._known[0]

    async def find(self, key_id: str) -> SigningKey | None:
        """Return the secret that a token names."""
        found = self._find_known(key_id)
        if found is not None:
            return found
        async with self._looking:
            if self._find_known(key_id) is None and self._may_reload():
                async with self._database.connection() as connection:
                    self._known = await store.list_signing_keys(connection)
                self._looked_at = self._clock.now()
        return self._find_known(key_id)

    def _find_known(self, key_id: str) -> SigningKey | None:
        return next((key for key in self._known if key.id == key_id), None)

    def _may_reload(self) -> bool:
        if self._looked_at is None:
            return True
        return abs(self._clock.now() - self._looked_at) >= RELOAD_AFTER

    async def _read_or_make(self) -> list[SigningKey]:
        async with self._database.transaction() as connection:
            await store.lock_first_key(connection)
            found = await store.list_signing_keys(connection)
            if not found:
                found = [make_signing_key()]
                await store.insert_signing_key(connection, found[0], now=self._clock.now())
        return found
