"""The service that a command speaks to: at FRAMEKILN_BASE_URL, with the key of the environment."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from framekiln.cli.environment import load_settings
from framekiln.client import Client
from framekiln.client.connection import check_running
from framekiln.settings import Settings

_KEY_NAME = "the command line, while a command ran"


@contextmanager
def open_client() -> Iterator[Client]:
    """Yield a client of the service; says at once when nobody is there."""
    # A polite end is an interruption like Ctrl-C, so that a key made for us does not stay.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings = load_settings()
    check_running(settings.public_url)
    with _key(settings) as key, Client(settings.public_url, key) as client:
        yield client


@contextmanager
def _key(settings: Settings) -> Iterator[str]:
    """Yield the key of the environment, or one of the local data folder for as long as we run."""
    if settings.api_key:
        yield settings.api_key
        return
    # They bring the database along, which a client of another machine does not need.
    from framekiln.cli.connection import open_services  # noqa: PLC0415
    from framekiln.cli.orgs import find_organization  # noqa: PLC0415
    from framekiln.identity.service import DEFAULT_ORGANIZATION  # noqa: PLC0415

    async def make() -> tuple[str, str]:
        async with open_services(settings) as services:
            organization = await find_organization(services.identity, DEFAULT_ORGANIZATION)
            issued = await services.identity.create_key(organization.id, _KEY_NAME)
            return issued.text, issued.key.key_id

    async def revoke(key_id: str) -> None:
        async with open_services(settings) as services:
            await services.identity.revoke_key(key_id)

    text, key_id = asyncio.run(make())
    try:
        yield text
    finally:
        asyncio.run(revoke(key_id))
