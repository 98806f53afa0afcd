"""A real PostgreSQL for every contract test: one server a session, one database a test."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from framekiln.db.migrate import migrate
from framekiln.db.pool import Database
from framekiln.jobs.queue import JobQueue
from tests.support.jobs import opened_database, opened_queue
from tests.support.postgres import PostgresServer

TEMPLATE = "framekiln_template"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The session's server; a test that crashes a server makes its own."""
    server = PostgresServer()
    try:
        server.start()
        migrate(server.create_database(TEMPLATE))
        yield server
    finally:
        server.remove()


@pytest.fixture
def conninfo(postgres: PostgresServer) -> Iterator[str]:
    """A fresh, migrated database."""
    name = f"test_{uuid4().hex}"
    yield postgres.create_database(name, template=TEMPLATE)
    postgres.drop_database(name)


@pytest.fixture
def fragile_postgres() -> Iterator[PostgresServer]:
    """A server of the test's own, to be crashed; its database is empty."""
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
async def database(conninfo: str) -> AsyncIterator[Database]:
    """The pool of a fresh, migrated database."""
    async with opened_database(conninfo) as database:
        yield database


@pytest.fixture
async def queue(conninfo: str) -> AsyncIterator[JobQueue]:
    """The job queue of the same database."""
    async with opened_queue(conninfo) as queue:
        yield queue
