"""Fixtures for every kind of test, and the check of `spec` markers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.spec_report import read_clauses

from tests.support.clips import make_clip
from tests.support.clock import SettableClock
from tests.support.receiver import Receiver
from tests.support.service import running_service


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a marker that names no clause, before anything runs; put what takes longest first.

    Tests of survival wait for dead processes to be missed, and others for a whole service to start:
    nobody should wait for them alone at the end.
    """
    items.sort(key=lambda item: (not _is_of_survival(item), not _starts_a_service(item)))
    clauses = read_clauses()
    for item in items:
        for marker in item.iter_markers("spec"):
            unknown = [clause for clause in marker.args if clause not in clauses]
            if unknown or not marker.args:
                message = f"{item.nodeid}: no such clause {unknown} in docs/spec-clauses.txt"
                raise pytest.UsageError(message)


def _is_of_survival(item: pytest.Item) -> bool:
    return "survives" in item.path.name


def _starts_a_service(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "module", None), running_service.__name__)


@pytest.fixture
def clock() -> SettableClock:
    """A clock that stands still until the test moves it."""
    return SettableClock()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A loopback server that records requests and answers as told."""
    with Receiver() as running:
        yield running


@pytest.fixture(scope="session")
def flash_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of flash and beep at 30 fps, 320 x 240; only to be read."""
    return make_clip(tmp_path_factory.mktemp("clips") / "flash.mp4")
