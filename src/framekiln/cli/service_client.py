"""The client of a command, for FRAMEKILN_BASE_URL and the key of the environment."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from framekiln.cli.environment import load_settings, read_settings
from framekiln.client import Client
from framekiln.client.connection import require_running
from framekiln.settings import Settings

_KEY_NAME = "the command line, while a command runs"


class ServiceAddress(NamedTuple):
    """Where the service is, and a key for it."""

    url: str
    api_key: str
    is_temporary: bool
    """Whether the key ends with the command."""


@contextmanager
def open_client() -> Iterator[Client]:
    """Yield a client of the service; fails immediately if the service does not respond."""
    settings = read_settings()
    require_running(settings.public_url)
    with _address(settings) as address, Client(address.url, address.api_key) as client:
        yield client


@contextmanager
def open_address() -> Iterator[ServiceAddress]:
    """Yield the address of the service, whether or not it responds."""
    with _address(load_settings()) as address:
        yield address


@contextmanager
def _address(settings: Settings) -> Iterator[ServiceAddress]:
    # SIGTERM is handled like Ctrl-C, so that a temporary key is revoked.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with _key(settings) as key:
        yield ServiceAddress(settings.public_url, key, is_temporary=not settings.api_key)


@contextmanager
def _key(settings: Settings) -> Iterator[str]:
    """Yield the key of the environment, or a temporary one of the local data folder.

    A temporary key is valid only during the command, its secret is not stored, and the next command
    reuses its row. A new row for each command would fill the list of keys. Deleting the row would
    break jobs that were started with it and still refer to it. A secret in the data folder would be
    sent to whatever host FRAMEKILN_BASE_URL names.
    """
    if settings.api_key:
        yield settings.api_key
        return
    # These import the database, which a client of another machine does not need.
    from framekiln.cli.database import DatabaseMissing, open_services  # noqa: PLC0415
    from framekiln.cli.orgs import find_organization  # noqa: PLC0415
    from framekiln.identity.model import IssuedKey  # noqa: PLC0415
    from framekiln.identity.service import DEFAULT_ORGANIZATION  # noqa: PLC0415

    # Unlike a client, the database writes to the log.
    settings = load_settings()

    async def issue() -> IssuedKey:
        async with open_services(settings) as services:
            organization = await find_organization(services.identity, DEFAULT_ORGANIZATION)
            return await services.identity.issue_temporary_key(organization.id, _KEY_NAME)

    async def revoke(key_id: str) -> None:
        async with open_services(settings) as services:
            await services.identity.revoke_key(key_id)

    try:
        issued = asyncio.run(issue())
    except DatabaseMissing as error:
        raise DatabaseMissing(f"FRAMEKILN_API_KEY is not set, and {error.message}") from error
    try:
        yield issued.text
    finally:
        asyncio.run(revoke(issued.key.key_id))
