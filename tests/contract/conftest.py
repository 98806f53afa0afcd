"""A real PostgreSQL for every contract test: one server a session, one database a test.

And the application over it, one for all tests of a module. A module that needs more than that
overrides `app_options`, or `app` with one that starts from it.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest

from framekiln.capture.browser import Browser
from framekiln.db.migrate import migrate
from framekiln.db.pool import Database
from framekiln.jobs.queue import JobQueue
from tests.support.app import AppHarness, open_app
from tests.support.browsers import SharedBrowser
from tests.support.composition_screen import Load, RecordingHost, loader
from tests.support.endpoint_harness import EndpointHarness, TlsReceiver, open_endpoints
from tests.support.generous_limits import generous_limits
from tests.support.jobs import open_database, open_queue
from tests.support.pipelines import PipelineHarness, ScriptedRunner, open_pipelines
from tests.support.postgres import PostgresServer

TEMPLATE = "framekiln_template"


@pytest.fixture(scope="session", autouse=True)
def generous_timeouts() -> Iterator[None]:
    """Limits of ours that are no test's subject, but that a busy machine may go over."""
    with generous_limits():
        yield


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
    async with open_database(conninfo) as database:
        yield database


@pytest.fixture
async def queue(conninfo: str) -> AsyncIterator[JobQueue]:
    """The job queue of the same database."""
    async with open_queue(conninfo) as queue:
        yield queue


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    """How the module's `app` is opened: workers, settings."""
    return {}


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer,
    tmp_path_factory: pytest.TempPathFactory,
    app_options: dict[str, Any],
) -> AsyncIterator[AppHarness]:
    """The application of a module; nobody works there unless its options say so."""
    folder = tmp_path_factory.mktemp("kiln")
    async with open_app(postgres, folder, template=TEMPLATE, **app_options) as app:
        yield app


@pytest.fixture(scope="module")
async def idle_app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AppHarness]:
    """One more, where nobody works but whom a test starts."""
    folder = tmp_path_factory.mktemp("idle")
    async with open_app(postgres, folder, template=TEMPLATE) as app:
        yield app


@pytest.fixture(scope="module")
async def pipelines(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    """Pipelines of a module's own; its tests decide what their first and last steps find."""
    folder = tmp_path_factory.mktemp("kiln")
    runners = {"probe": ScriptedRunner(), "publish": ScriptedRunner()}
    async with open_pipelines(postgres, folder, template=TEMPLATE, runners=runners) as pipelines:
        yield pipelines


@pytest.fixture
def probe(pipelines: PipelineHarness) -> ScriptedRunner:
    """What runs probe steps of `pipelines`; it has neither results nor calls yet."""
    found = pipelines.handler.runners["probe"]
    assert isinstance(found, ScriptedRunner)
    found.results, found.calls = [], []
    return found


@pytest.fixture(scope="module")
def browser(shared_browser: SharedBrowser) -> Browser:
    """A Chromium; a test that harms browsers opens its own."""
    return shared_browser.get()


@pytest.fixture
def host() -> RecordingHost:
    """What answers a bare composition's requests, and remembers them."""
    return RecordingHost()


@pytest.fixture
def load(browser: Browser, host: RecordingHost) -> Iterator[Load]:
    """Puts a composition on a screen, where it can be looked at frame by frame."""
    with loader(browser, host) as load:
        yield load


@pytest.fixture(scope="module")
async def endpoints(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[EndpointHarness]:
    """Pipelines with endpoints, worked on by the test itself; one for all tests of a module."""
    async with open_endpoints(
        postgres, tmp_path_factory.mktemp("kiln"), template=TEMPLATE
    ) as endpoints:
        yield endpoints


@pytest.fixture
def endpoint_receiver(endpoints: EndpointHarness) -> Iterator[TlsReceiver]:
    """Somebody's endpoint."""
    with TlsReceiver(endpoints.certificate) as receiver:
        yield receiver
