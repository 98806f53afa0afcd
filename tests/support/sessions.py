"""The application for users who log in, with a clock of the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import httpx
from argon2 import PasswordHasher

from framekiln.api.app import create_app
from framekiln.identity.invitations import Invitations
from framekiln.identity.members import Members
from framekiln.identity.model import Organization, Role
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import Identity
from framekiln.identity.sessions import Pause, Sessions
from framekiln.identity.signatures.devices import DeviceTokens
from framekiln.identity.signatures.stored_keys import StoredSigningKeys
from framekiln.identity.users import Users
from framekiln.services import Services
from tests.support.app import BASE_URL, AppHarness, open_app
from tests.support.clock import SettableClock
from tests.support.postgres import PostgresServer

PASSWORD = "correct horse"
OWN = {"Origin": BASE_URL}
OTHER = {"Origin": "https://evil.example"}
# These parameters are fast; one test logs in with the real ones.
FAST_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@dataclass(frozen=True)
class SessionHarness:
    """The application with a clock of the test."""

    kiln: AppHarness
    services: Services
    clock: SettableClock
    organization: Organization

    def browser(self, client: str = "127.0.0.1", **headers: str) -> httpx.AsyncClient:
        """A client with its own cookie jar, and without a key."""
        transport = httpx.ASGITransport(self.kiln.asgi, client=(client, 123))
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)

    async def user(self, role: Role = Role.MEMBER) -> str:
        """Return the e-mail address of a new user."""
        email = f"{uuid4()}@example.org"
        await self.services.users.create(email, self.organization.id, role=role, password=PASSWORD)
        return email

    async def logged_in(self, email: str | None = None) -> httpx.AsyncClient:
        """Return a browser with a logged-in user."""
        browser = self.browser()
        body = {"email": email or await self.user(), "password": PASSWORD}
        assert (await browser.post("/login", json=body)).status_code == 200
        return browser


@asynccontextmanager
async def open_session_harness(
    postgres: PostgresServer, folder: Path, *, template: str
) -> AsyncIterator[SessionHarness]:
    """Run the application, with one organization and a trusted origin."""
    clock = SettableClock()
    allowed = {"https://app.example"}
    async with open_app(postgres, folder, template=template, allowed_origins=allowed) as opened:
        services = with_clock(opened.services, clock)
        organization = await services.identity.create_organization("Acme")
        kiln = AppHarness(services, create_app(services), key=opened.key)
        yield SessionHarness(kiln, services, clock, organization)
        await kiln.client.aclose()


def with_clock(services: Services, clock: SettableClock) -> Services:
    """Return the services with the clock, and with fast password checks."""
    database, passwords = services.database, Passwords(FAST_HASHER)
    sessions = new_sessions(services, passwords, clock)
    return replace(
        services,
        clock=clock,
        identity=Identity(database, clock),
        users=Users(database, passwords=passwords, clock=clock),
        sessions=sessions,
        members=Members(database, sessions=sessions, clock=clock),
        invitations=Invitations(database, sessions=sessions, passwords=passwords, clock=clock),
    )


def new_sessions(
    services: Services, passwords: Passwords, clock: SettableClock, pause: Pause = asyncio.sleep
) -> Sessions:
    """Return sessions with the clock."""
    devices = DeviceTokens(StoredSigningKeys(services.database, clock), clock)
    return Sessions(
        services.database, passwords=passwords, devices=devices, clock=clock, pause=pause
    )


def with_settings(services: Services, **changes: object) -> Services:
    """Return the services with other settings."""
    return replace(services, settings=services.settings.model_copy(update=changes))
