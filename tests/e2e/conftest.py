"""A real Chromium that films pages, the films to look at, and running services to share."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from framekiln.capture.browser import Browser
from framekiln.cli.program import app
from framekiln.engine.confinement import missing_confinement
from framekiln.engine.film import FilmResult, make_film, make_still
from framekiln.engine.film_order import FilmOrder
from framekiln.media.images.still_formats import StillFormat
from tests.conftest import SHARED, SURVIVAL, group_of
from tests.support.browser_tab import OrdinaryBrowser, open_ordinary_browser
from tests.support.browsers import SharedBrowser
from tests.support.frame_codes import Picture
from tests.support.generous_limits import generous_limits
from tests.support.looks import DecodedFrame, decode_frames
from tests.support.memory_folder import new_database_folder
from tests.support.page_method import PAGE_METHOD
from tests.support.service import Account, Service, running_service
from tests.support.timeouts import FILM_LIMITS, GENEROUS_SETTINGS

WIDTH, HEIGHT = 640, 360
IN_THIS_PROCESS = {
    "FRAMEKILN_RUN_AS": "0",
    "FRAMEKILN_ALLOW_UNCONFINED": "1",
    **GENEROUS_SETTINGS,
}
"""With it, `framekiln render` of root starts no process for its film, which takes longer."""


@pytest.fixture(scope="session", autouse=True)
def generous_timeouts() -> Iterator[None]:
    """Also for tests that run our code in their own process; services get theirs as settings."""
    with generous_limits():
        yield


@pytest.fixture(scope="session", autouse=True)
def allow_unconfined() -> None:
    """Let commands work on a machine that cannot confine what they open; usually needless."""
    if missing_confinement():
        os.environ["FRAMEKILN_ALLOW_UNCONFINED"] = "1"


@dataclass(frozen=True)
class RenderedFilm:
    """A film that was made, and what it shows."""

    film: FilmResult
    path: Path

    @cached_property
    def frames(self) -> list[DecodedFrame]:
        return decode_frames(self.path)

    @property
    def pictures(self) -> list[Picture]:
        return [frame.rgb for frame in self.frames]


class FilmHarness:
    """Films pages with one browser, each into a file of its own."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self._folder = folder
        self._numbers = count()

    def film(self, html: str, **order: Any) -> RenderedFilm:
        """Film a page; ten frames in a second, unless the order says otherwise."""
        asked: dict[str, Any] = {
            "width_px": WIDTH,
            "height_px": HEIGHT,
            "fps": Fraction(10),
            "duration_ms": 1000,
            "page_method": PAGE_METHOD,
        }
        path = self._folder / f"{next(self._numbers)}.mp4"
        film = make_film(FilmOrder(html, **asked | order), self.browser, path, limits=FILM_LIMITS)
        return RenderedFilm(film, path)

    def still(self, order: FilmOrder, format_: StillFormat) -> Path:
        """Make the still of an order."""
        path = self._folder / f"{next(self._numbers)}.still"
        make_still(order, self.browser, path, format_, limits=FILM_LIMITS)
        return path


class SharedServices:
    """One service for each group of files: started at its first use, stopped after its last."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Service, ExitStack]] = {}

    def get(self, group: str) -> Service:
        """Return the service of a group, which may have to be started."""
        if group not in self._running:
            stack = ExitStack()
            folder = new_database_folder()
            stack.callback(shutil.rmtree, folder)
            # Other people's servers are servers of the tests, on ports that nobody knows yet.
            service = running_service(folder, FRAMEKILN_FETCH_ALLOW="127.0.0.1")
            self._running[group] = stack.enter_context(service), stack
        return self._running[group][0]

    def stop(self, group: str) -> None:
        """Stop the service of a group, if there is one."""
        if group in self._running:
            _, stack = self._running.pop(group)
            stack.close()

    def stop_all(self) -> None:
        for group in [*self._running]:
            self.stop(group)


SERVICES = pytest.StashKey[SharedServices]()


@pytest.fixture(scope="session")
def services(request: pytest.FixtureRequest) -> Iterator[SharedServices]:
    services = request.config.stash[SERVICES] = SharedServices()
    yield services
    services.stop_all()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop a service when the next test is of another group: an idle one costs time, too."""
    yield
    group = group_of(item.nodeid)
    following = nextitem and group_of(nextitem.nodeid)
    if group != following and SERVICES in item.config.stash:
        item.config.stash[SERVICES].stop(group)


@pytest.fixture(scope="module")
def shared_service(services: SharedServices) -> Service:
    """A running service that others use before and after: harm nothing, use an `account`."""
    return services.get(SHARED)


@pytest.fixture(scope="module")
def killable_service(services: SharedServices) -> Service:
    """A running service whose processes may be killed; leave it running."""
    return services.get(SURVIVAL)


@pytest.fixture(scope="module")
def account(shared_service: Service, request: pytest.FixtureRequest) -> Iterator[Account]:
    """An organization for one file of tests, on the shared service."""
    with shared_service.open_account(request.node.name) as account:
        yield account


@pytest.fixture(scope="session")
def ordinary_browser() -> Iterator[OrdinaryBrowser]:
    """A browser like that of a viewer, for tests that look at pages of the service."""
    with open_ordinary_browser() as browser:
        yield browser


class Terminal:
    """Somebody who types commands; they run in this process."""

    def __init__(self, account: Account, folder: Path) -> None:
        self._environment = {**account.environment, "FRAMEKILN_DATA": str(folder)}
        self._folder = folder

    def type(self, *words: str) -> Result:
        """Run a command, whatever comes of it."""
        return CliRunner().invoke(app, list(words), env=self._environment)

    def ask(self, *words: str) -> Any:
        """Run a command that succeeds, and return the JSON that it writes."""
        result = self.type(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def write(self, name: str, value: Any) -> str:
        """Put JSON into a file and return where."""
        path = self._folder / name
        path.write_text(json.dumps(value))
        return str(path)

    def pipeline(self, name: str, **steps: Any) -> Any:
        """Make a pipeline."""
        definition = self.write("definition.json", {"steps": steps})
        return self.ask("pipelines", "create", name, "--definition", definition)


@pytest.fixture
def own_sigterm() -> Iterator[None]:
    """Put SIGTERM back: commands take it for themselves, and here share a process with tests."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def terminal(account: Account, tmp_path: Path, own_sigterm: None) -> Terminal:
    return Terminal(account, tmp_path)


@pytest.fixture(scope="module")
def browser(shared_browser: SharedBrowser) -> Browser:
    """A Chromium; a test that harms browsers opens its own."""
    return shared_browser.get()


@pytest.fixture
def harness(browser: Browser, tmp_path: Path) -> FilmHarness:
    return FilmHarness(browser, tmp_path)


def processes_under(leader: int) -> list[int]:
    """Return the living children of a process, and theirs, and so on; zombies do not count."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
    found = list(children.get(leader, ()))
    for pid in found:
        found += children.get(pid, ())
    return found
