"""A small storm over the whole service; see `storm` for larger ones."""

from pathlib import Path

import pytest

from tests.e2e.storm import check_storm, open_storm
from tests.support.patience import PATIENCE_S
from tests.support.service import Service


@pytest.mark.spec("3.3")
def test_runs_end_as_if_nothing_had_been(killable_service: Service, tmp_path: Path) -> None:
    with open_storm(killable_service, tmp_path, patience_s=2 * PATIENCE_S) as storm:
        check_storm(storm, run_count=4, kill_count=5)
