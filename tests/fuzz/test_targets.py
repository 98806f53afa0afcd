"""Each target with a few fixed inputs, so that targets keep working. `make fuzz` does the rest."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.targets import TooMuchWork, all_targets, bounded_work
from tests.fuzz.watchdog import noted_input

FEW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", all_targets())
def test_fixed_inputs_are_accepted_or_refused(name: str) -> None:
    target = all_targets()[name]
    FEW(given(target.inputs)(target.run))()


def _endless() -> None:
    while True:
        len("")


# A regular expression is one call of C.
HANGING = """
import re, sys
from tests.fuzz.watchdog import Watchdog
with open(sys.argv[1], "wb") as note, Watchdog(note, hang_s=0.2).watch("a" * 60 + "b") as _:
    re.match("(a+)+$", "a" * 60 + "b")
"""


def test_a_hang_inside_one_call_of_c_ends_the_process_and_the_input_is_known(
    tmp_path: Path,
) -> None:
    note = tmp_path / "input"
    ended = subprocess.run(
        [sys.executable, "-c", HANGING, str(note)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
    assert noted_input(note) == repr("a" * 60 + "b")


def test_endless_work_is_detected() -> None:
    with pytest.raises(TooMuchWork), bounded_work():
        _endless()
