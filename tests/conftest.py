"""Fixtures for every kind of test, the order of tests, and the check of `spec` markers."""

import gc
import logging
import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import structlog
from scripts.spec_report import read_clauses
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from framekiln.kit.confined.budget import session_budget
from framekiln.kit.confined.limits import is_realtime, leave_realtime
from tests.support import hypothesis_profile  # noqa: F401
from tests.support.browsers import SharedBrowser
from tests.support.clips import make_clip
from tests.support.clock import SettableClock
from tests.support.receiver import Receiver

# Several test files run at once: more threads each would only wake each other.
os.environ.setdefault("FRAMEKILN_SPEECH_THREADS", "1")
# Realtime programs starve ordinary ones. Where the caller is one, the tests and what they start
# must not be: they are many, and some of them compute without end on purpose.
leave_realtime()

# The default draws each traceback with the values of all variables, which takes seconds.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

SHARED, SURVIVAL = "shared service", "survival"
GROUPS: Final = {
    SURVIVAL: ("test_crash_recovery.py", "test_pipeline_chaos.py", "test_upload_resume.py"),
    SHARED: (
        "test_redaction.py",
        "test_review_page.py",
        "test_embedded_player.py",
        "test_pipeline_commands.py",
        "test_players.py",
        "test_layer_examples.py",
        "test_tutorials.py",
        "test_doc_commands.py",
        "test_python_client.py",
        "test_media_commands.py",
        "test_agent_tools.py",
        "test_typescript_client.py",
        "test_service_commands.py",
        "test_service_accounts.py",
        "test_studio.py",
        "hostile/test_floods.py",
        "hostile/test_media.py",
        "hostile/test_requests.py",
    ),
}
"""Files of tests/e2e whose tests use the same service, one after the other in one process."""
SLOWEST_FIRST = (*GROUPS, "tests/e2e/", "tests/contract/", "tests/fuzz/", "tests/unit/")
"""Beginnings of names of groups. Nobody should wait for a long group alone at the end."""
SERVICE_FIXTURES = {"shared_service", "killable_service"}


def group_of(nodeid: str) -> str:
    """Return the name of a test's group: its file, or what stands for several files."""
    path = nodeid.partition("::")[0]
    name = path.removeprefix("tests/e2e/")
    if name != path:
        for group, names in GROUPS.items():
            if name in names:
                return group
    return path


class GroupScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Gives all tests of a group to one worker process of pytest-xdist, in the order collected."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_configure() -> None:
    """Make tests wait at random, if that is wanted."""
    if os.environ.get("FRAMEKILN_TEST_PAUSES"):
        # Imports the database, which most unit tests do not need.
        from tests.support.pauses import pause_at_random  # noqa: PLC0415

        pause_at_random()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling | None:
    """Where files stay together, let files that share a service stay together as well."""
    return GroupScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: what collecting makes stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow groups first, and refuse wrong tests before anything runs."""
    items.sort(key=_place)
    clauses = read_clauses()
    for item in items:
        _check_group(item)
        for marker in item.iter_markers("spec"):
            unknown = [clause for clause in marker.args if clause not in clauses]
            if unknown or not marker.args:
                message = f"{item.nodeid}: no such clause {unknown} in docs/spec-clauses.txt"
                raise pytest.UsageError(message)


def pytest_collection_finish() -> None:
    """Take what all tests share out of the garbage collector's sight: it stays until the end."""
    # Not after a collection: it takes half a second in each process, and finds little.
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not tested, so that nobody takes it for tested."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_reason(report) for report in reports)
    if not reasons:
        return
    terminalreporter.section("left out on this machine")
    for reason, count in sorted(reasons.items()):
        tests = "1 test" if count == 1 else f"{count} tests"
        terminalreporter.line(f"{tests}: {reason}")


def _place(item: pytest.Item) -> int:
    group = group_of(item.nodeid)
    places = (n for n, beginning in enumerate(SLOWEST_FIRST) if group.startswith(beginning))
    return next(places, len(SLOWEST_FIRST))


def _check_group(item: pytest.Item) -> None:
    """Refuse a test that would start a service of its own in another worker process."""
    used = SERVICE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    if used and group_of(item.nodeid) not in GROUPS:
        message = f"{item.nodeid} uses {used.pop()}: name its file in tests/conftest.py"
        raise pytest.UsageError(message)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """Undo what a command in this process configured: its log goes to a stream that is closed."""
    root = logging.getLogger()
    handlers, level, config = root.handlers, root.level, structlog.get_config()
    yield
    if root.handlers is not handlers:
        root.handlers = handlers
        root.setLevel(level)
        structlog.configure(**config)


@pytest.fixture(autouse=True)
def _no_realtime_scheduling() -> Iterator[None]:
    """Find tests that leave this process realtime: all that it starts later would be."""
    yield
    was_realtime = is_realtime()
    leave_realtime()
    assert not was_realtime, "the test, or a library that it called, made this process realtime"


@pytest.fixture(autouse=True, scope="module")
def _no_sessions_left_open() -> Iterator[None]:
    """Find files of tests that keep places of decoders: later ones would wait for half an hour."""
    yield
    assert session_budget().running == 0, "a test of this file has not closed its session"


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[SharedBrowser]:
    """A Chromium for whoever does it no harm."""
    shared = SharedBrowser()
    yield shared
    shared.close()


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still until the test moves it."""
    return SettableClock()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A loopback server that records requests and sends prepared responses."""
    with Receiver() as running:
        yield running


@pytest.fixture(scope="session")
def flash_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of flash and beep at 30 fps, 320 x 240; only to be read."""
    return make_clip(tmp_path_factory.mktemp("clips") / "flash.mp4")
