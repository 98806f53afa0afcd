"""A small storm over the whole service; see `storm` for larger ones."""

from pathlib import Path

import pytest

from tests.e2e.chaos import check_chaos, open_chaos
from tests.support.service import Service
from tests.support.timeouts import TIMEOUT_S


@pytest.mark.spec("3.3")
def test_runs_survive_killed_processes(killable_service: Service, tmp_path: Path) -> None:
    with open_chaos(killable_service, tmp_path, retry_within_s=2 * TIMEOUT_S) as storm:
        check_chaos(storm, run_count=3, kill_count=5)
