"""How much of a definition is looked at before it is refused for its size."""

from collections.abc import Iterator
from typing import Any

import pytest

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.validation import MAX_VALUES, has_too_many_values, validate
from framekiln.pipelines.errors import InvalidDefinition
from framekiln.pipelines.services.pipelines import read_definition
from framekiln.pipelines.steps import STEP_TYPES


def definition(leaves: int) -> dict[str, Any]:
    """Filters with so many comparisons, of three values each, 16 in one `all`."""
    comparison = {"path": "p.metadata.a", "op": "exists"}
    groups = [{"all": [comparison] * 16}] * (leaves // 16)
    whens = [{"any": groups[start : start + 16]} for start in range(0, len(groups), 16)]
    filters = {
        f"f{number}": {"type": "filter", "needs": ["p"], "when": when}
        for number, when in enumerate(whens)
    }
    return {"steps": {"p": {"type": "probe"}, **filters}}


class CountedList(list[Any]):
    """A list that counts how many of its items were looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Any]:
        for each in super().__iter__():
            self.looks += 1
            yield each


@pytest.mark.parametrize(("values", "is_refused"), [(MAX_VALUES, False), (MAX_VALUES + 1, True)])
def test_values_are_counted_at_every_depth(values: int, is_refused: bool) -> None:
    assert has_too_many_values({"a": [{"b": [0] * (values - 4)}]}) is is_refused
    nested: Any = 0
    for _ in range(values - 1):
        nested = [nested]
    assert has_too_many_values(nested) is is_refused


def test_definitions_with_more_than_a_thousand_comparisons_are_read() -> None:
    read = read_definition(definition(1536), STEP_TYPES)
    assert len(read.steps) == 7


def test_a_definition_with_too_many_values_is_refused_with_one_issue() -> None:
    with pytest.raises(InvalidDefinition) as refused:
        read_definition(definition(4096), STEP_TYPES)
    assert refused.value.details["issues"] == [{"path": "", "code": "too_many"}]


def test_what_lies_inside_a_list_that_is_too_long_is_not_looked_at() -> None:
    inner = CountedList([0] * 10)
    with pytest.raises(InvalidDefinition):
        read_definition([*([0] * MAX_VALUES), inner], STEP_TYPES)
    assert inner.looks == 0


def test_stored_definitions_from_before_the_limit_stay_valid() -> None:
    assert isinstance(validate(definition(4096), STEP_TYPES), Definition)
