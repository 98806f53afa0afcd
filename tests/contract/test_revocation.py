"""A key or session that ends while it is being checked does not work again in this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from framekiln.db.pool import Connection, Database
from framekiln.identity.errors import KeyRevoked, SessionEnded
from framekiln.identity.model import Role
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import Identity
from framekiln.identity.sessions import Sessions
from framekiln.identity.signatures.devices import DeviceTokens
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.identity.users import Users
from tests.support.clock import SettableClock
from tests.support.sessions import FAST_HASHER, PASSWORD
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.spec("5")


class PausedDatabase(Database):
    """Can hold back what was read with the next connection."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo)
        self.has_read, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.is_next_paused = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        is_paused, self.is_next_paused = self.is_next_paused, False
        async with super().connection() as connection:
            yield connection
        if is_paused:
            self.has_read.set()
            await self.may_go_on.wait()


@pytest.fixture
async def paused(conninfo: str) -> AsyncIterator[PausedDatabase]:
    database = PausedDatabase(conninfo)
    await database.open()
    yield database
    await database.close()


async def end_during_check(
    database: PausedDatabase,
    check: Callable[[], Awaitable[object]],
    end: Callable[[], Awaitable[object]],
) -> None:
    """End what is checked after the check has read it, and before the check goes on."""
    database.is_next_paused = True
    async with asyncio.timeout(TIMEOUT_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(_awaited(check))
        await database.has_read.wait()
        await end()
        database.may_go_on.set()


async def _awaited(check: Callable[[], Awaitable[object]]) -> None:
    await check()


async def test_a_key_that_is_revoked_during_its_check_is_refused_at_once(
    paused: PausedDatabase, clock: SettableClock
) -> None:
    identity = Identity(paused, clock)
    organization = await identity.create_organization("Acme")
    issued = await identity.create_key(organization.id, "laptop")
    await end_during_check(
        paused,
        check=lambda: identity.authenticate(issued.text),
        end=lambda: identity.revoke_key(issued.key.key_id),
    )
    with pytest.raises(KeyRevoked):
        await identity.authenticate(issued.text)


async def test_a_session_that_ends_during_its_check_is_refused_at_once(
    paused: PausedDatabase, clock: SettableClock
) -> None:
    organization = await Identity(paused, clock).create_organization("Acme")
    email, passwords = f"{uuid4()}@example.org", Passwords(FAST_HASHER)
    users = Users(paused, passwords=passwords, clock=clock)
    await users.create(email, organization.id, role=Role.MEMBER, password=PASSWORD)
    devices = DeviceTokens(StoredSigningKeys(paused, clock), clock)
    sessions = Sessions(paused, passwords=passwords, devices=devices, clock=clock)
    text = (await sessions.log_in(email, PASSWORD)).text
    await end_during_check(
        paused,
        check=lambda: sessions.authenticate(text),
        end=lambda: sessions.log_out(text),
    )
    with pytest.raises(SessionEnded):
        await sessions.authenticate(text)
