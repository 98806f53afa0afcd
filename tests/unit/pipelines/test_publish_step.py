"""Which redaction a publish step shows, and the warnings about redactions."""

from typing import Any

import pytest

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.step_rules import TypedGraph, definition_warnings
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.steps import STEP_TYPES
from framekiln.pipelines.steps.publish import nearest_redactions
from tests.support.pipelines import step

pytestmark = pytest.mark.spec("2.11")

REDACTED = {"source": "redacted"}


def hide(*needs: str) -> dict[str, Any]:
    return step("redact_render", *needs, with_={"kinds": ["face"]})


def checked(**steps: Any) -> Any:
    found = validate({"steps": steps}, STEP_TYPES)
    if isinstance(found, Definition):
        types = {key: STEP_TYPES[each.type] for key, each in found.steps.items()}
        return list(nearest_redactions(TypedGraph(found.needs, types), "out"))
    return [(issue.path, str(issue.code)) for issue in found]


def test_the_nearest_redaction_is_the_one_with_the_fewest_steps_between() -> None:
    out = step("publish", "check", with_=REDACTED)
    found = checked(first=hide(), second=hide("first"), check=step("review", "second"), out=out)
    assert found == [["second"], ["first"]]


def test_a_redaction_that_the_step_does_not_need_cannot_be_published() -> None:
    out = step("publish", "look", with_=REDACTED)
    issue = ("steps.out.with.source", "not_upstream")
    assert checked(look=step("probe"), hide=hide("look"), out=out) == [issue]


def test_two_redactions_equally_near_are_ambiguous() -> None:
    out = step("publish", "one", "other", with_=REDACTED)
    assert checked(one=hide(), other=hide(), out=out) == [("steps.out.with.source", "ambiguous")]


def test_a_missing_redaction_is_reported_with_all_other_issues() -> None:
    out = step("publish", "look", with_=REDACTED)
    assert checked(look=step("probe", when={}), out=out) == [
        ("steps.look.when", "not_allowed"),
        ("steps.out.with.source", "not_upstream"),
    ]


def warned(out: dict[str, Any]) -> list[str]:
    steps = {
        "look": step("probe"),
        "hide": hide("look"),
        "check": step("review", "hide"),
        "out": out,
    }
    return [each.path for each in definition_warnings({"steps": steps}, STEP_TYPES)]


def test_publishing_after_a_redaction_without_a_source_causes_a_warning() -> None:
    assert warned(step("publish", "check")) == ["steps.out.with.source"]
    assert warned({"type": "publish", "needs": ["hide"]}) == ["steps.out.with.source"]
    steps = {"look": step("probe"), "hide": hide("look"), "out": step("publish", "hide")}
    [warning] = definition_warnings({"steps": steps}, STEP_TYPES)
    assert warning.code == "original_published"
    assert all(word in warning.message for word in ("out", "hide", '"redacted"', '"original"'))


@pytest.mark.parametrize("source", ["original", "redacted"])
def test_an_explicit_source_causes_no_warning(source: str) -> None:
    assert warned(step("publish", "check", with_={"source": source})) == []


def test_publishing_beside_a_redaction_causes_no_warning() -> None:
    assert warned(step("publish")) == []


@pytest.mark.parametrize("needs", [[], None])
def test_a_redaction_that_needs_no_step_causes_a_warning(needs: list[str] | None) -> None:
    alone = {"type": "redact_render", "with": {"kinds": ["face"]}}
    steps = {"hide": alone if needs is None else {**alone, "needs": needs}}
    [warning] = definition_warnings({"steps": steps}, STEP_TYPES)
    assert (warning.path, warning.code) == ("steps.hide.needs", "nothing_to_redact")
    assert '"needs"' in warning.message
