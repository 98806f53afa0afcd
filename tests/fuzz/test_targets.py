"""Each target with a few fixed inputs, so that targets keep working. `make fuzz` does the rest."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.targets import TooMuchWork, all_targets, bounded_work

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


def test_endless_work_is_detected() -> None:
    with pytest.raises(TooMuchWork), bounded_work():
        _endless()
