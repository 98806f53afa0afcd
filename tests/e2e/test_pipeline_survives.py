"""A small storm over the whole service; see `storm` for larger ones."""

from pathlib import Path

import pytest

from tests.e2e.storm import check_storm, open_storm


@pytest.mark.spec("3.3")
@pytest.mark.timeout(900)
def test_runs_end_as_if_nothing_had_been(tmp_path: Path) -> None:
    with open_storm(tmp_path, patience_s=120) as storm:
        check_storm(storm, run_count=6, kill_count=5)
